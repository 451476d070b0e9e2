/*
 * Feeds the library what chance makes of the files that are named: chat templates, `--`, and response templates. Usage: fuzz SECONDS
 * CHAT_TEMPLATE... -- RESPONSE_TEMPLATE... It ends when the time is over, or where a sanitizer stops it. The seed is
 * printed, and taken from the variable SEED.
 */
#include "unjinja.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state;

static uint32_t chance(uint32_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)((state >> 16) % below);
}

typedef struct {
  char *start;
  size_t length;
} Text;

static Text file(const char *path) {
  FILE *opened = fopen(path, "rb");
  if (!opened) exit(2);
  Text text = {malloc(1 << 16), 0};
  text.length = fread(text.start, 1, 1 << 16, opened);
  fclose(opened);
  return text;
}

/* A copy of just its length, in which some bytes are others, lost, or there twice. */
static Text damaged(Text text) {
  Text copy = {malloc(2 * text.length + 16), text.length};
  memcpy(copy.start, text.start, text.length);
  for (uint32_t times = chance(4); times && copy.length; times--) {
    uint32_t at = chance((uint32_t)copy.length), most = (uint32_t)copy.length - at;
    uint32_t length = 1 + chance(most < 8 ? most : 8);
    switch (chance(3)) {
      case 0:
        copy.start[at] = (char)chance(256);
        break;
      case 1:
        memmove(copy.start + at, copy.start + at + length, copy.length - at - length);
        copy.length -= length;
        break;
      case 2:
        if (copy.length + length > 2 * text.length) break;
        memmove(copy.start + at + length, copy.start + at, copy.length - at);
        copy.length += length;
    }
  }
  copy.start = realloc(copy.start, copy.length ? copy.length : 1);
  return copy;
}

static void touch(const char *start, size_t length) {
  static volatile char kept;
  for (size_t i = 0; i < length; i++) kept ^= start[i];
}

static void done(UnjinjaText *text, UnjinjaError *error) {
  if ((text == NULL) != (error != NULL)) abort();
  if (text) touch(unjinja_text_start(text), unjinja_text_length(text));
  if (error && unjinja_error_kind(error) == UNJINJA_ERROR_KIND_INTERNAL) {
    fprintf(stderr, "%s\n", unjinja_error_message(error));
    abort();
  }
  unjinja_text_free(text);
  unjinja_error_free(error);
}

static void hear(const UnjinjaEvent *event, void *context) {
  (void)context;
  touch(event->field.start, event->field.length);
  touch(event->text.start, event->text.length);
  touch(event->error.start, event->error.length);
  for (size_t i = 0; i < event->capture_count; i++) touch(event->captures[i].text.start, event->captures[i].text.length);
  if (event->value) done(unjinja_value_json(event->value), NULL);
}

/* A text of pieces of the template, among which are its markers. */
static Text output(Text template) {
  Text text = {malloc(4096), 0};
  for (uint32_t pieces = chance(24); pieces; pieces--) {
    uint32_t at = chance((uint32_t)template.length), most = (uint32_t)template.length - at;
    uint32_t length = 1 + chance(most < 24 ? most : 24);
    /* From a quotation mark on, it is often a whole marker. */
    const char *quote = chance(4) ? memchr(template.start + at, '"', most) : NULL;
    if (quote && quote + 1 < template.start + template.length) {
      const char *end = memchr(quote + 1, '"', (size_t)(template.start + template.length - quote - 1));
      if (end && end - quote < 64) {
        memcpy(text.start + text.length, quote + 1, (size_t)(end - quote - 1));
        text.length += (size_t)(end - quote - 1);
        continue;
      }
    }
    memcpy(text.start + text.length, template.start + at, length);
    text.length += length;
  }
  return text;
}

static const char *const OPTIONS[] = {
    "", "{\"spans\": true}", "{\"on_malformed\": \"event\", \"unfinished\": \"mark\"}", "{\"on_malformed\": \"event\", \"spans\": true}",
    "{\"body_aware_close\": true, \"stripped_chunks\": true}", "{\"unfinished\": \"drop\"}", "{\"no\": 1}"};

static void feed(const UnjinjaTemplate *template, Text text) {
  const char *options = OPTIONS[chance(sizeof OPTIONS / sizeof *OPTIONS)];
  UnjinjaEvents *events = chance(2) ? unjinja_events_new() : NULL;
  UnjinjaOnEvent on_event = events ? unjinja_events_keep : hear;
  UnjinjaError *error;
  size_t prefix = text.length ? chance((uint32_t)text.length) : 0;
  if (chance(2)) prefix = 0;
  UnjinjaParser *parser = unjinja_parser_new(template, text.start, prefix, options, strlen(options), &error);
  unjinja_error_free(error);
  UnjinjaCompletion *completion = unjinja_completion_new(template, text.start, prefix, NULL, 0, &error);
  unjinja_error_free(error);
  for (size_t at = prefix; at < text.length;) {
    size_t most = text.length - at, length = 1 + chance(most < 9 ? (uint32_t)most : 9);
    Text piece = {malloc(length), length};
    memcpy(piece.start, text.start + at, length);
    unjinja_parser_feed(parser, piece.start, length, on_event, events, &error);
    unjinja_error_free(error);
    UnjinjaText *lines = unjinja_completion_feed(completion, piece.start, length, &error);
    done(lines, error);
    free(piece.start);
    if (events && chance(2)) {
      const UnjinjaEvent *first = unjinja_events_start(events);
      for (size_t i = 0; i < unjinja_events_count(events); i++) hear(&first[i], NULL);
      unjinja_events_clear(events);
    }
    at += length;
  }
  UnjinjaText *message = unjinja_parser_finish(parser, on_event, events, &error);
  done(message, error);
  UnjinjaText *lines = unjinja_completion_finish(completion, chance(2), &error);
  done(lines, error);
  unjinja_parser_free(parser);
  unjinja_completion_free(completion);
  unjinja_events_free(events);
}

int main(int count, char **arguments) {
  const char *seed = getenv("SEED");
  uint64_t begun = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
  state = begun * 0x9e3779b97f4a7c15u + 1;
  printf("SEED=%llu\n", (unsigned long long)begun);
  fflush(stdout);
  time_t end = time(NULL) + atol(arguments[1]);
  int dashes = 2;
  while (dashes < count && strcmp(arguments[dashes], "--") != 0) dashes++;
  if (dashes < 3 || dashes + 1 >= count) return 2;
  unsigned long rounds = 0, read = 0, derived = 0;
  for (; time(NULL) < end; rounds++) {
    Text whole = file(arguments[dashes + 1 + (int)chance((uint32_t)(count - dashes - 1))]);
    Text json = chance(4) ? whole : damaged(whole);
    UnjinjaError *error;
    UnjinjaTemplate *template = unjinja_template_new(json.start, json.length, &error);
    unjinja_error_free(error);
    if (template) read++;
    for (int outputs = 0; outputs < 8; outputs++) {
      Text plain = output(whole), text = damaged(plain);
      feed(template, text);
      free(plain.start);
      free(text.start);
    }
    if (rounds % 64 == 0) {
      Text jinja = file(arguments[2 + (int)chance((uint32_t)(dashes - 2))]), other = damaged(jinja);
      UnjinjaChatTemplate *chat = unjinja_chat_template_new(other.start, other.length, NULL, 0, &error);
      unjinja_error_free(error);
      UnjinjaText *report = unjinja_derive(chat, NULL, 0, &error);
      if (report) derived++;
      done(report, error);
      UnjinjaText *grammar = unjinja_grammar(chat, NULL, 0, &error);
      done(grammar, error);
      UnjinjaText *complaints = unjinja_lint(template, chat, &error);
      done(complaints, error);
      unjinja_chat_template_free(chat);
      free(jinja.start);
      free(other.start);
    }
    unjinja_template_free(template);
    if (json.start != whole.start) free(json.start);
    free(whole.start);
  }
  printf("%lu templates, of which %lu can be read, with 8 outputs each; %lu chat templates derived\n", rounds, read, derived);
  return 0;
}
