/*
 * unjinja reads a language model's raw output back into a structured message, whole or while it is written.
 *
 * Texts go in as bytes and their number; NULL with 0 is no text. They may hold NULs, and need none behind them. They are
 * UTF-8. What a function is given it does not keep: it may be freed or changed when the function has returned.
 *
 * What a function gives away, the `_free` of its type takes back; these take NULL, too. Pointers are what such a function has
 * given, or NULL where that is said.
 *
 * A function that can fail returns NULL or false then. It takes the address of an error last, or NULL, and sets that to
 * the error, or to NULL if there is none. No panic comes out of the library: it is an error, too.
 *
 * Threads: templates are never changed, so that any number of threads may use one. Parsers, completions and events are used by one
 * thread at a time, whichever it is. Errors and texts belong to whoever was given them. The library keeps no state of its own.
 */


#ifndef UNJINJA_H
#define UNJINJA_H

/* Made of the sources of capi/; UNJINJA_UPDATE=1 cargo test --package unjinja-capi --test header writes it anew. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The value of a region. */
typedef struct UnjinjaValue UnjinjaValue;

/**
 * What an error is about.
 */
typedef enum {
  /**
   * A function was given what it can't take: NULL, text that is no UTF-8, options that there are not.
   */
  UNJINJA_ERROR_KIND_ARGUMENT = 1,
  /**
   * A response template has faults.
   */
  UNJINJA_ERROR_KIND_TEMPLATE,
  /**
   * An output can't be parsed by its response template.
   */
  UNJINJA_ERROR_KIND_PARSE,
  /**
   * A chat template can't be loaded.
   */
  UNJINJA_ERROR_KIND_LOAD,
  /**
   * A chat template can't be rendered.
   */
  UNJINJA_ERROR_KIND_RENDER,
  /**
   * No response template can be derived.
   */
  UNJINJA_ERROR_KIND_DERIVE,
  /**
   * No grammar can be made.
   */
  UNJINJA_ERROR_KIND_GRAMMAR,
  /**
   * unjinja has failed, which is to be reported. What was being worked with is of no more use.
   */
  UNJINJA_ERROR_KIND_INTERNAL,
} UnjinjaErrorKind;

/**
 * What has happened in the text.
 */
typedef enum {
  /**
   * A region has begun.
   */
  UNJINJA_EVENT_KIND_OPEN = 1,
  /**
   * `text` is more of the region that is open, as the model wrote it.
   */
  UNJINJA_EVENT_KIND_CHUNK,
  /**
   * A region has ended, and `value` is what has become of its text.
   */
  UNJINJA_EVENT_KIND_CLOSE,
  /**
   * A region has ended, and its `text` can't be parsed, for the reason `error`. Only with the option `on_malformed` or
   * `unfinished`.
   */
  UNJINJA_EVENT_KIND_MALFORMED,
} UnjinjaEventKind;

/**
 * A chat template with its tokens, and with what all of its renderings have in common. Any number of threads may use it at the
 * same time.
 */
typedef struct UnjinjaChatTemplate UnjinjaChatTemplate;

/**
 * Turns one output into a chat completion while it is written. One thread at a time may use it.
 */
typedef struct UnjinjaCompletion UnjinjaCompletion;

/**
 * Why something has failed.
 */
typedef struct UnjinjaError UnjinjaError;

/**
 * Events that stand on their own, in the order in which they came: `unjinja_events_keep` puts them here.
 */
typedef struct UnjinjaEvents UnjinjaEvents;

/**
 * Reads one output while it is written. One thread at a time may use it.
 */
typedef struct UnjinjaParser UnjinjaParser;

/**
 * A response template that has been read. Any number of threads may use it at the same time.
 */
typedef struct UnjinjaTemplate UnjinjaTemplate;

/**
 * A text that was made for the caller: JSON, a prompt, a grammar.
 */
typedef struct UnjinjaText UnjinjaText;

/**
 * Where an error goes: the address of a pointer, which nobody need have set to anything; or nowhere.
 */
typedef UnjinjaError **UnjinjaErrorPlace;

/**
 * A text that belongs to somebody else: UTF-8 of so many bytes, without a NUL behind it.
 */
typedef struct {
  /**
   * Where it begins; never NULL.
   */
  const char *start;
  /**
   * Its number of bytes.
   */
  size_t length;
} UnjinjaSlice;

/**
 * A named group of the pattern that opened a region.
 */
typedef struct {
  /**
   * The group's name.
   */
  UnjinjaSlice name;
  /**
   * What it matched.
   */
  UnjinjaSlice text;
} UnjinjaCapture;

/**
 * Something that happened in the text. Nothing of it is copied: it all lies in the text that was fed, or in the parser, and
 * lasts as long as the call that reports it.
 */
typedef struct {
  /**
   * What has happened.
   */
  UnjinjaEventKind kind;
  /**
   * Whether the text of a chunk has yet to be parsed.
   */
  bool is_dirty;
  /**
   * Whether the end of the output has closed the region, and no delimiter.
   */
  bool is_at_end;
  /**
   * Whether `span_start` and `span_end` say where the delimiter lies; only with the option `spans`.
   */
  bool has_span;
  /**
   * The field that the region belongs to.
   */
  UnjinjaSlice field;
  /**
   * The text of a chunk, or all the text of a region that is malformed; else empty.
   */
  UnjinjaSlice text;
  /**
   * What is wrong with a region that is malformed; else empty.
   */
  UnjinjaSlice error;
  /**
   * The value of a region that has closed; else NULL.
   */
  const UnjinjaValue *value;
  /**
   * Where the delimiter begins, in bytes of the text since the anchor.
   */
  size_t span_start;
  /**
   * Where it ends.
   */
  size_t span_end;
  /**
   * What the delimiter that opened the region has captured; only with the option `spans`.
   */
  const UnjinjaCapture *captures;
  /**
   * How many of them there are.
   */
  size_t capture_count;
} UnjinjaEvent;

/**
 * What is told of an event. `context` is what was given with the function. It may not throw, jump out, or free the parser.
 */
typedef void (*UnjinjaOnEvent)(const UnjinjaEvent *event, void *context);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * A chat template that is given as its Jinja text.
 *
 * @param jinja where the text begins
 * @param options a JSON object, or nothing: `name`, which stands in errors; `bos_token` and `eos_token`; `special_tokens` and
 *     `added_tokens`, lists of texts; `now`, what the template takes for the current time, as `"2026-01-15T12:00:00"`;
 *     `variables`, further variables of the template
 * @return the template, which `unjinja_chat_template_free` takes back. What is wrong with it shows when it is rendered
 */
UnjinjaChatTemplate *unjinja_chat_template_new(const char *jinja,
                                               size_t jinja_length,
                                               const char *options,
                                               size_t options_length,
                                               UnjinjaErrorPlace error);

/**
 * Loads a chat template from where models keep them: a .jinja file, a tokenizer_config.json, a model's folder or a GGUF file.
 *
 * @param path the name of the file or folder
 * @param options a JSON object, or nothing: `variant`, which of several templates to take; `bos_token` and `eos_token`, if they do
 *     not come with the template; `now` and `variables` as for `unjinja_chat_template_new`
 * @return the template, which `unjinja_chat_template_free` takes back
 */
UnjinjaChatTemplate *unjinja_chat_template_load(const char *path,
                                                size_t path_length,
                                                const char *options,
                                                size_t options_length,
                                                UnjinjaErrorPlace error);

/**
 * Gives a chat template back.
 */
void unjinja_chat_template_free(UnjinjaChatTemplate *chat_template);

/**
 * Renders a conversation.
 *
 * @param request a JSON object: `messages`; and `tools`, `add_generation_prompt` and `variables`, if there are any
 * @return the prompt, which `unjinja_text_free` takes back
 */
UnjinjaText *unjinja_render(const UnjinjaChatTemplate *chat_template,
                            const char *request,
                            size_t request_length,
                            UnjinjaErrorPlace error);

/**
 * Works out the response template of a chat template, and proves it.
 *
 * @param options a JSON object, or nothing: `reasoning_field`, the field for reasoning, `thinking` unless it is named; `ids`, whether
 *     calls keep their ids; `guess_types`, whether values that are written raw are read as JSON where they are JSON; `outputs`,
 *     a list of what the model has written, each a text, or an object with `output`, `prefix`, `message` and `tools`;
 *     `profiles`, a list of those who have to take the template, as `"transformers@5.24"`
 * @return JSON, which `unjinja_text_free` takes back, and `unjinja_template_new` reads: the response template under
 *     `response_template`; whether all that the chat template writes is recovered under `is_whole`; and what is known of it
 */
UnjinjaText *unjinja_derive(const UnjinjaChatTemplate *chat_template,
                            const char *options,
                            size_t options_length,
                            UnjinjaErrorPlace error);

/**
 * What will hurt about a response template, though it is valid.
 *
 * @param chat_template the chat template that it belongs to, or NULL
 * @return a JSON list of complaints, which `unjinja_text_free` takes back
 */
UnjinjaText *unjinja_lint(const UnjinjaTemplate *response_template,
                          const UnjinjaChatTemplate *chat_template,
                          UnjinjaErrorPlace error);

/**
 * What is wrong with a chat template.
 *
 * @return a JSON list of complaints, which `unjinja_text_free` takes back
 */
UnjinjaText *unjinja_lint_chat_template(const UnjinjaChatTemplate *chat_template, UnjinjaErrorPlace error);

/**
 * A grammar of what the model may write.
 *
 * @param request a JSON object, or nothing: `tools`; `format`: `"gbnf"`, `"lark"`, `"structural-tag"` or `"regex"`; `tool_choice`:
 *     `"auto"`, `"required"`, `"none"`, or the name of a tool; `reasoning`: `"auto"`, `"on"` or `"off"`; `parallel`, whether there may
 *     be several calls; `prefix`, the prompt; `best_effort`, whether any value is allowed in place of a schema that is beyond a limit
 * @return JSON, which `unjinja_text_free` takes back: the `grammar`, a text, or an object for a structural tag; and `warnings`
 */
UnjinjaText *unjinja_grammar(const UnjinjaChatTemplate *chat_template,
                             const char *request,
                             size_t request_length,
                             UnjinjaErrorPlace error);

/**
 * A completion of one output.
 *
 * @param response_template what the output is read by
 * @param prefix the prompt that came before the output
 * @param options a JSON object, or nothing for the defaults: `id`, `model`, `created` in seconds since 1970, and `reasoning`, the
 *     key of the reasoning; `tools`, `on_malformed`, `on_unread`, `unknown_tools`, `unfinished` and `body_aware_close` as for
 *     `unjinja_parser_new`, but that a call which can't be read, or in which something is read by nothing, is given back as
 *     content, and that a call which is cut off is dropped
 * @return the completion, which `unjinja_completion_free` takes back
 */
UnjinjaCompletion *unjinja_completion_new(const UnjinjaTemplate *response_template,
                                          const char *prefix,
                                          size_t prefix_length,
                                          const char *options,
                                          size_t options_length,
                                          UnjinjaErrorPlace error);

/**
 * Reads the next piece of the output, and returns what is to be sent: `chat.completion.chunk`s, one a line, or nothing.
 *
 * The first call begins with the role, and with what the prefix has written into the message. To have it at once, feed nothing.
 *
 * @param text UTF-8, which may be cut anywhere
 * @return the lines, which `unjinja_text_free` takes back
 */
UnjinjaText *unjinja_completion_feed(UnjinjaCompletion *completion,
                                     const char *text,
                                     size_t length,
                                     UnjinjaErrorPlace error);

/**
 * Ends the output. The completion is of no more use then, but has to be freed.
 *
 * @param is_cut_off whether the model had no room for more
 * @return lines, which `unjinja_text_free` takes back: the last `chat.completion.chunk`s, and in the last line the whole
 *     `chat.completion`
 */
UnjinjaText *unjinja_completion_finish(UnjinjaCompletion *completion,
                                       bool is_cut_off,
                                       UnjinjaErrorPlace error);

/**
 * Gives a completion back.
 */
void unjinja_completion_free(UnjinjaCompletion *completion);

/**
 * What the error is about.
 */
UnjinjaErrorKind unjinja_error_kind(const UnjinjaError *error);

/**
 * What it says: the place, the cause and what helps, as UTF-8 that ends with a NUL. It lasts as long as the error.
 */
const char *unjinja_error_message(const UnjinjaError *error);

/**
 * Gives an error back.
 */
void unjinja_error_free(UnjinjaError *error);

/**
 * The value as JSON.
 */
UnjinjaText *unjinja_value_json(const UnjinjaValue *value);

/**
 * Nothing, in which events can be kept.
 */
UnjinjaEvents *unjinja_events_new(void);

/**
 * Keeps an event. It is an `UnjinjaOnEvent`: given to `unjinja_parser_feed` with `events` as the context, it keeps what
 * happens. Many calls may add to the same events.
 *
 * @param event an event that a parser hands over
 * @param events the `UnjinjaEvents`
 */
void unjinja_events_keep(const UnjinjaEvent *event,
                         void *events);

/**
 * The first of the events. They lie one behind the other until another one is kept, or they are cleared.
 */
const UnjinjaEvent *unjinja_events_start(const UnjinjaEvents *events);

/**
 * How many events there are.
 */
size_t unjinja_events_count(const UnjinjaEvents *events);

/**
 * Forgets the events, and keeps the room that they took.
 */
void unjinja_events_clear(UnjinjaEvents *events);

/**
 * Gives events back.
 */
void unjinja_events_free(UnjinjaEvents *events);

/**
 * A parser for one output.
 *
 * @param response_template what the output is read by
 * @param prefix the prompt that came before the output, of which templates often write the beginning of the message. Without
 *     any, the output is the whole message
 * @param options a JSON object, or nothing for the defaults:
 *     `tools`: the tools that the prompt offered, whose schemas type the arguments of calls;
 *     `on_malformed`: `"fail"`, or `"event"` for an event of a region that can't be parsed, in place of an error, or `"text"` for
 *         the same and its text behind the content;
 *     `on_unread`: `"pass"`, or `"malformed"` where a call can't be parsed in which something stands that nothing reads;
 *     `unknown_tools`: `"keep"`, `"drop"`, or give back as `"text"`, calls of tools that are not among `tools`;
 *     `unfinished`: `"keep"`, `"mark"` or `"drop"` calls that the end of the output has cut off;
 *     `calls_end_thoughts`: whether a thought that nothing closes ends where calls begin in it, if nothing else follows;
 *     `spans`: whether events say where delimiters lie, and what they have captured;
 *     `body_aware_close`: whether delimiters are ignored inside of the strings of JSON;
 *     `stripped_chunks`: whether chunks have no white space that their value does not have
 * @return the parser, which `unjinja_parser_free` takes back
 */
UnjinjaParser *unjinja_parser_new(const UnjinjaTemplate *response_template,
                                  const char *prefix,
                                  size_t prefix_length,
                                  const char *options,
                                  size_t options_length,
                                  UnjinjaErrorPlace error);

/**
 * Reads the next piece of the output, and tells a function of what happens in it.
 *
 * The first call begins with what the prefix has written into the message: where a prompt ends with an opened thought, the
 * first event is its opening. To hear of it at once, feed nothing.
 *
 * @param text UTF-8, which may be cut anywhere, also within a character. What is no UTF-8 is U+FFFD
 * @param on_event is called for each event, before this function returns; or NULL
 * @param context is given to `on_event`
 * @return whether it could be read. A parser that has failed stays failed
 */
bool unjinja_parser_feed(const UnjinjaParser *parser,
                         const char *text,
                         size_t length,
                         UnjinjaOnEvent on_event,
                         void *context,
                         UnjinjaErrorPlace error);

/**
 * Ends the output: what is still open is closed. The parser is of no more use then, but has to be freed.
 *
 * @param on_event is called for each of the last events; or NULL
 * @param context is given to `on_event`
 * @return the message as JSON, which `unjinja_text_free` takes back
 */
UnjinjaText *unjinja_parser_finish(const UnjinjaParser *parser,
                                   UnjinjaOnEvent on_event,
                                   void *context,
                                   UnjinjaErrorPlace error);

/**
 * Gives a parser back.
 */
void unjinja_parser_free(UnjinjaParser *parser);

/**
 * Parses a whole output at once.
 *
 * @param response_template what the output is read by
 * @param prefix the prompt that came before the output
 * @param output the output. What is no UTF-8 is U+FFFD
 * @param options as those of `unjinja_parser_new`
 * @return the message as JSON, which `unjinja_text_free` takes back
 */
UnjinjaText *unjinja_parse(const UnjinjaTemplate *response_template,
                           const char *prefix,
                           size_t prefix_length,
                           const char *output,
                           size_t output_length,
                           const char *options,
                           size_t options_length,
                           UnjinjaErrorPlace error);

/**
 * Reads a response template: JSON that is one, or that holds one under `response_template`, as a tokenizer_config.json does.
 *
 * @param json where the text begins
 * @param length its number of bytes
 * @return the template, which `unjinja_template_free` takes back; NULL if it has faults, all of which the error names
 */
UnjinjaTemplate *unjinja_template_new(const char *json,
                                      size_t length,
                                      UnjinjaErrorPlace error);

/**
 * What the template holds that has no effect: a JSON list of texts.
 */
UnjinjaText *unjinja_template_warnings(const UnjinjaTemplate *response_template);

/**
 * Gives a template back. Parsers that were made of it go on.
 */
void unjinja_template_free(UnjinjaTemplate *response_template);

/**
 * Where the text begins. It is UTF-8, has a NUL behind it, and lasts as long as the text.
 */
const char *unjinja_text_start(const UnjinjaText *text);

/**
 * How many bytes it has, without the NUL.
 */
size_t unjinja_text_length(const UnjinjaText *text);

/**
 * Gives a text back.
 */
void unjinja_text_free(UnjinjaText *text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* UNJINJA_H */
