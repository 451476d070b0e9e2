/* What is given wrongly is an error, and nothing else happens. */
#undef NDEBUG
#include "unjinja.h"

#include <assert.h>
#include <string.h>

#define TEXT(text) (text), sizeof(text) - 1
#define NOTHING NULL, 0

static UnjinjaError *error;

/* The error that there has to be: of this kind, with this in its message. */
static void expect(UnjinjaErrorKind kind, const char *part) {
  assert(error && unjinja_error_kind(error) == kind);
  assert(strstr(unjinja_error_message(error), part));
  unjinja_error_free(error);
  error = NULL;
}

static UnjinjaParser *fed_again;

static void feed_again(const UnjinjaEvent *event, void *context) {
  (void)event;
  (void)context;
  UnjinjaError *inner;
  assert(!unjinja_parser_feed(fed_again, TEXT("more"), NULL, NULL, &inner));
  assert(strstr(unjinja_error_message(inner), "is being fed"));
  unjinja_error_free(inner);
}

static void first_kind(const UnjinjaEvent *event, void *kind) {
  if (*(int *)kind == 0) *(int *)kind = event->kind;
}

int main(void) {
  /* What is no template. */
  assert(!unjinja_template_new(NOTHING, &error));
  expect(UNJINJA_ERROR_KIND_TEMPLATE, "");
  assert(!unjinja_template_new(TEXT("{\"start_anchor\": \"A\", \"fields\": {\"x\": {\"opn\": \"<\"}}}"), &error));
  expect(UNJINJA_ERROR_KIND_TEMPLATE, "did you mean `open`?");
  assert(!unjinja_template_new(TEXT("\xff"), &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "no UTF-8");
  assert(!unjinja_template_new(NULL, 5, &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "NULL");
  assert(!unjinja_template_new(TEXT("{}"), NULL));

  UnjinjaTemplate *template = unjinja_template_new(
      TEXT("{\"start_anchor\": \"<bot>\", \"fields\": {"
           "\"thinking\": {\"open\": \"<think>\", \"close\": \"</think>\"},"
           "\"data\": {\"open\": \"<data>\", \"close\": \"</data>\", \"content\": \"json\"},"
           "\"content\": {\"close\": \"<end>\"}}}"),
      &error);
  assert(template && !error);

  /* What is no option. */
  assert(!unjinja_parser_new(template, NOTHING, TEXT("{\"span\": true}"), &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "there is no option `span`");
  assert(!unjinja_parser_new(template, NOTHING, TEXT("{\"spans\": 1}"), &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "`spans`: expected true or false, found 1");
  assert(!unjinja_parser_new(template, NOTHING, TEXT("[]"), &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "JSON object");
  assert(!unjinja_parser_new(NULL, NOTHING, NOTHING, &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "is NULL");
  assert(!unjinja_parser_feed(NULL, TEXT("a"), NULL, NULL, &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "is NULL");

  /* The first event of a thought that the prompt has opened is its opening. */
  UnjinjaParser *parser = unjinja_parser_new(template, TEXT("<bot><think>"), NOTHING, &error);
  int kind = 0;
  assert(unjinja_parser_feed(parser, TEXT("Hm."), first_kind, &kind, &error));
  assert(kind == UNJINJA_EVENT_KIND_OPEN);
  /* Nothing that was given is kept: the template, either. What has ended is said to have. */
  unjinja_template_free(template);
  UnjinjaText *message = unjinja_parser_finish(parser, NULL, NULL, &error);
  assert(strcmp(unjinja_text_start(message), "{\"thinking\":\"Hm.\"}") == 0);
  unjinja_text_free(message);
  assert(!unjinja_parser_feed(parser, TEXT("a"), NULL, NULL, &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "has ended");
  assert(!unjinja_parser_finish(parser, NULL, NULL, &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "has ended");
  unjinja_parser_free(parser);

  /* Who is told of an event can't feed the same parser. */
  template = unjinja_template_new(TEXT("{\"start_anchor\": \"A\", \"fields\": {\"data\": {\"open\": \"<d>\", \"close\": \"</d>\","
                                       "\"content\": \"json\"}}}"),
                                  &error);
  fed_again = parser = unjinja_parser_new(template, NOTHING, NOTHING, &error);
  assert(unjinja_parser_feed(parser, TEXT("<d>{"), feed_again, NULL, &error));
  /* What has failed stays failed. */
  assert(!unjinja_parser_feed(parser, TEXT("</d>"), NULL, NULL, &error));
  expect(UNJINJA_ERROR_KIND_PARSE, "data");
  assert(!unjinja_parser_feed(parser, TEXT("a"), NULL, NULL, &error));
  expect(UNJINJA_ERROR_KIND_PARSE, "failed");
  unjinja_parser_free(parser);

  /* A completion says first whose message it is, and in the end all of it. */
  UnjinjaCompletion *completion = unjinja_completion_new(template, NOTHING, TEXT("{\"id\": \"7\"}"), &error);
  UnjinjaText *lines = unjinja_completion_feed(completion, NOTHING, &error);
  assert(strstr(unjinja_text_start(lines), "{\"role\":\"assistant\"}"));
  unjinja_text_free(lines);
  lines = unjinja_completion_finish(completion, false, &error);
  assert(strstr(unjinja_text_start(lines), "\"finish_reason\":\"stop\""));
  unjinja_text_free(lines);
  assert(!unjinja_completion_finish(completion, false, &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "has ended");
  unjinja_completion_free(completion);

  /* Chat templates. */
  UnjinjaChatTemplate *chat = unjinja_chat_template_new(TEXT("{{ nothing.at_all }}"), TEXT("{\"name\": \"odd\"}"), &error);
  assert(!unjinja_render(chat, TEXT("{\"messages\": []}"), &error));
  expect(UNJINJA_ERROR_KIND_RENDER, "odd: ");
  assert(!unjinja_derive(chat, NOTHING, &error));
  expect(UNJINJA_ERROR_KIND_DERIVE, "odd: ");
  assert(!unjinja_grammar(chat, TEXT("{\"format\": \"yaml\"}"), &error));
  expect(UNJINJA_ERROR_KIND_ARGUMENT, "expected one of gbnf, lark, structural-tag, regex, found \"yaml\"");
  assert(!unjinja_chat_template_load(TEXT("there/is/none.jinja"), NOTHING, &error));
  expect(UNJINJA_ERROR_KIND_LOAD, "there/is/none.jinja");
  unjinja_chat_template_free(chat);

  unjinja_template_free(template);
  unjinja_template_free(NULL);
  unjinja_parser_free(NULL);
  unjinja_completion_free(NULL);
  unjinja_chat_template_free(NULL);
  unjinja_events_free(NULL);
  unjinja_text_free(NULL);
  unjinja_error_free(NULL);
  return 0;
}
