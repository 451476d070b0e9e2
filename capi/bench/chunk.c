/* How long a chunk of four bytes takes from C, in nanoseconds: the best of many runs. Usage: chunk TEMPLATE PREFIX OUTPUT */
#define _POSIX_C_SOURCE 200809L
#include "unjinja.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static size_t heard;

static void hear(const UnjinjaEvent *event, void *context) {
  (void)context;
  heard += event->text.length;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static size_t length;

static char *file(const char *path) {
  FILE *opened = fopen(path, "rb");
  if (!opened) exit(2);
  char *text = malloc(1 << 22);
  length = fread(text, 1, 1 << 22, opened);
  fclose(opened);
  return text;
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  const char *json = file(arguments[1]);
  UnjinjaTemplate *template = unjinja_template_new(json, length, NULL);
  const char *prefix = file(arguments[2]);
  size_t prefix_length = length;
  const char *output = file(arguments[3]);
  double best = 1e18;
  for (int run = 0; run < 200; run++) {
    UnjinjaParser *parser = unjinja_parser_new(template, prefix, prefix_length, NULL, 0, NULL);
    UnjinjaError *error;
    double begun = now();
    for (size_t at = 0; at < length; at += 4) {
      size_t piece = length - at < 4 ? length - at : 4;
      if (!unjinja_parser_feed(parser, output + at, piece, hear, NULL, &error)) return 1;
    }
    double took = (now() - begun) / ((double)length / 4);
    if (took < best) best = took;
    unjinja_text_free(unjinja_parser_finish(parser, hear, NULL, NULL));
    unjinja_parser_free(parser);
  }
  printf("C %.2f (%zu)\n", best, heard);
  return 0;
}
