/*
 * From a chat template to a streamed answer: derives the response template, renders the prompt, and reads what a model writes, in tokens.
 *
 * cc capi/examples/stream.c $(pkg-config --cflags --libs unjinja) -o stream
 * ./stream examples/chat_template.jinja
 */
#include <stdio.h>
#include <string.h>
#include <unjinja.h>

/* Tells the error, if there is one, and ends with 1. */
#define CHECK(done) \
  if (!(done)) return fprintf(stderr, "%s\n", unjinja_error_message(error)), unjinja_error_free(error), 1

static void on_event(const UnjinjaEvent *event, void *context) {
  (void)context;
  printf("%-9.*s", (int)event->field.length, event->field.start);
  switch (event->kind) {
    case UNJINJA_EVENT_KIND_OPEN:
      puts("begins");
      break;
    case UNJINJA_EVENT_KIND_CHUNK:
      printf("| %.*s\n", (int)event->text.length, event->text.start);
      break;
    case UNJINJA_EVENT_KIND_CLOSE: {
      UnjinjaText *value = unjinja_value_json(event->value);
      printf("is %s\n", unjinja_text_start(value));
      unjinja_text_free(value);
      break;
    }
    case UNJINJA_EVENT_KIND_MALFORMED:
      printf("can't be parsed: %.*s\n", (int)event->error.length, event->error.start);
  }
}

int main(int count, char **arguments) {
  if (count != 2) return fprintf(stderr, "usage: stream CHAT_TEMPLATE\n"), 2;
  UnjinjaError *error;

  UnjinjaChatTemplate *chat = unjinja_chat_template_load(arguments[1], strlen(arguments[1]), NULL, 0, &error);
  CHECK(chat);
  UnjinjaText *derived = unjinja_derive(chat, NULL, 0, &error);
  CHECK(derived);
  /* The report has the template in it, under a key by which it is found. A program keeps it, and derives once. */
  const char *report = unjinja_text_start(derived);
  UnjinjaTemplate *template = unjinja_template_new(report, unjinja_text_length(derived), &error);
  CHECK(template);

  const char request[] =
      "{\"messages\": [{\"role\": \"user\", \"content\": \"Will it rain?\"}], \"add_generation_prompt\": true}";
  UnjinjaText *prompt = unjinja_render(chat, request, strlen(request), &error);
  CHECK(prompt);
  UnjinjaParser *parser = unjinja_parser_new(
      template, unjinja_text_start(prompt), unjinja_text_length(prompt), NULL, 0, &error);
  CHECK(parser);

  /* As a detokenizer gives them: characters may be cut. */
  const char *const tokens[] = {"It is 8", " \xc2", "\xb0", "C.", "\n</thi", "nk>\n", "Yes", ", it will.", "<|end|>"};
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
    CHECK(unjinja_parser_feed(parser, tokens[i], strlen(tokens[i]), on_event, NULL, &error));
  UnjinjaText *message = unjinja_parser_finish(parser, on_event, NULL, &error);
  CHECK(message);
  printf("%s\n", unjinja_text_start(message));

  unjinja_text_free(message);
  unjinja_parser_free(parser);
  unjinja_text_free(prompt);
  unjinja_template_free(template);
  unjinja_text_free(derived);
  unjinja_chat_template_free(chat);
  return 0;
}
