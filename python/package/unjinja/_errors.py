"""What can go wrong. Every error says the place, the cause and a remedy, in the words of the program."""


class Error(ValueError):
    """Whatever unjinja has to complain about."""


class TemplateError(Error):
    """A response template, a response schema, or tools are refused."""


class ParseError(Error, KeyError):
    """An output is not what its response template expects.

    It is a `ValueError`, and a `KeyError`, too: that is what the transformers library raises where a
    transform asks for something that is not there.
    """

    __str__ = Error.__str__


class LoadError(Error):
    """A chat template can't be loaded."""


class RenderError(Error):
    """A chat template is not valid, or refuses a conversation."""


class DeriveError(Error):
    """Nothing can be derived from a chat template."""


class ReadError(Error):
    """A text is no conversation that a chat template has written."""


class MaskError(Error):
    """It can't be told what of a conversation the model writes."""


class BridgeError(Error):
    """It can't be told what is to be put behind an output."""


class MendError(Error):
    """A chat template can't be mended, since it is not valid or renders nothing."""


class GrammarError(Error):
    """There is no grammar for what is asked for."""


class ConvertError(Error):
    """A response schema can't be brought over."""


class InternalError(RuntimeError):
    """Something went wrong inside of unjinja, which is a mistake there."""
