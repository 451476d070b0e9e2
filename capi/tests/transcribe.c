/*
 * Reads cases, and writes a line for each: a checksum of all that is reported of it, with the output cut at each byte, and byte by byte.
 * It has to be what `capi/examples/transcribe.rs` writes. With the argument `kept`, events are kept before they are
 * looked at. With two numbers, so many cases are tried, at so many cuts.
 */
#include "unjinja.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t sum;

static void add(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) sum = (sum ^ (uint8_t)bytes[i]) * 0x01000193u;
}

/* A text behind its length. */
static void say(const char *text, size_t length) {
  char before[32];
  add(before, (size_t)sprintf(before, "%zu:", length));
  add(text, length);
}

static void say_slice(UnjinjaSlice slice) { say(slice.start, slice.length); }

static void say_and_free(UnjinjaText *text) {
  say(unjinja_text_start(text), unjinja_text_length(text));
  unjinja_text_free(text);
}

static void say_error(UnjinjaError *error) {
  const char *message = unjinja_error_message(error);
  say(message, strlen(message));
  unjinja_error_free(error);
}

static void hear(const UnjinjaEvent *event, void *context) {
  (void)context;
  static const char *const names[] = {"", "open", "chunk", "close", "malformed"};
  char name[32];
  sprintf(name, "%s%s", event->is_dirty ? "dirty " : "", names[event->kind]);
  say(name, strlen(name));
  say_slice(event->field);
  switch (event->kind) {
    case UNJINJA_EVENT_KIND_OPEN:
      for (size_t i = 0; i < event->capture_count; i++) {
        say_slice(event->captures[i].name);
        say_slice(event->captures[i].text);
      }
      break;
    case UNJINJA_EVENT_KIND_CHUNK:
      say_slice(event->text);
      break;
    case UNJINJA_EVENT_KIND_CLOSE:
      say_and_free(unjinja_value_json(event->value));
      break;
    case UNJINJA_EVENT_KIND_MALFORMED:
      say_slice(event->text);
      say_slice(event->error);
      break;
  }
  if (event->has_span) {
    char span[64];
    sprintf(span, "%zu %zu", event->span_start, event->span_end);
    say(span, strlen(span));
  }
}

static void hear_all(UnjinjaEvents *events) {
  const UnjinjaEvent *start = unjinja_events_start(events);
  for (size_t i = 0; i < unjinja_events_count(events); i++) hear(&start[i], NULL);
  unjinja_events_clear(events);
}

typedef struct {
  char *start;
  size_t length;
} Part;

static const UnjinjaTemplate *response_template;
static Part prefix, options;
static UnjinjaEvents *events;

/* Reads the output in pieces that end where `cut` is, or in single bytes. Each piece is a copy of just its length, so that whoever
 * reads beyond it, or keeps it, is found out. */
static void read_in_pieces(Part output, size_t cut, bool single) {
  UnjinjaOnEvent on_event = events ? unjinja_events_keep : hear;
  UnjinjaError *error;
  UnjinjaParser *parser =
      unjinja_parser_new(response_template, prefix.start, prefix.length, options.start, options.length, &error);
  bool fine = parser != NULL;
  size_t at = 0;
  int pieces = 0;
  while (fine && (single ? at < output.length : pieces < 2)) {
    size_t end = single ? at + 1 : pieces == 0 ? cut : output.length;
    char *piece = malloc(end - at);
    memcpy(piece, output.start + at, end - at);
    fine = unjinja_parser_feed(parser, piece, end - at, on_event, events, &error);
    free(piece);
    if (events) hear_all(events);
    at = end;
    pieces++;
  }
  UnjinjaText *message = fine ? unjinja_parser_finish(parser, on_event, events, &error) : NULL;
  if (events) hear_all(events);
  if (message)
    say_and_free(message);
  else
    say_error(error);
  unjinja_parser_free(parser);
}

static Part read_part(size_t length) {
  Part part = {malloc(length + 1), length};
  if (fread(part.start, 1, length, stdin) != length) exit(2);
  return part;
}

int main(int count, char **arguments) {
  size_t most = (size_t)-1, cases = (size_t)-1;
  if (count > 1 && strcmp(arguments[1], "kept") == 0)
    events = unjinja_events_new();
  else if (count > 2) {
    cases = strtoul(arguments[1], NULL, 10);
    most = strtoul(arguments[2], NULL, 10);
  }
  size_t lengths[4];
  while (cases-- && scanf("%zu %zu %zu %zu", &lengths[0], &lengths[1], &lengths[2], &lengths[3]) == 4) {
    if (getchar() != '\n') return 2;
    Part template = read_part(lengths[0]);
    prefix = read_part(lengths[1]);
    options = read_part(lengths[2]);
    Part output = read_part(lengths[3]);
    sum = 0x811c9dc5u;
    UnjinjaError *error;
    UnjinjaTemplate *read = unjinja_template_new(template.start, template.length, &error);
    if (read) {
      response_template = read;
      size_t step = 1 + output.length / 1000 * 63;
      for (size_t cut = 0; cut <= output.length && cut < most; cut += step) read_in_pieces(output, cut, false);
      read_in_pieces(output, 0, true);
    } else {
      say_error(error);
    }
    printf("%08x\n", sum);
    unjinja_template_free(read);
    free(template.start);
    free(prefix.start);
    free(options.start);
    free(output.start);
  }
  unjinja_events_free(events);
  return 0;
}
