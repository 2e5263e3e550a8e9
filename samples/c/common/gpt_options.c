#include "gpt_options.h"

#include <string.h>

#include "byte_pairs.h"
#include "failure.h"

#define TEXT_FILE "build/data/bible-kjv.txt"

/* Enough for every published GPT, and low enough that no product of sizes overflows. */
enum { kMaxLayers = 4096, kMaxWidth = 1 << 20, kMaxContext = 1 << 20, kMaxVocabulary = 1 << 24 };

static bool set_text(void* options, const char* text) { return parse_text(text, &((gpt_options*)options)->text); }

static bool set_preset(void* options, const char* text) {
  static const struct {
    const char* name;
    gpt_shape shape;
  } presets[] = {
      {"tiny", {.vocabulary = kByteTokens, .context = 64, .layers = 2, .width = 64, .heads = 4}},
      {"small", {.vocabulary = kByteTokens, .context = 128, .layers = 4, .width = 192, .heads = 6}},
      {"gpt2", {.vocabulary = 50257, .context = 1024, .layers = 12, .width = 768, .heads = 12}},
  };
  for (size_t i = 0; i < sizeof presets / sizeof presets[0]; ++i) {
    if (strcmp(text, presets[i].name) != 0) continue;
    ((gpt_options*)options)->preset = presets[i].shape;
    return true;
  }
  return false;
}

static bool set_vocabulary(void* options, const char* text) {
  return parse_count(text, kByteTokens, kMaxVocabulary, &((gpt_options*)options)->shape.vocabulary);
}

static bool set_vocab(void* options, const char* text) {
  return parse_count(text, kByteTokens, kMostTokens, &((gpt_options*)options)->token_count);
}

static bool set_layers(void* options, const char* text) {
  return parse_count(text, 1, kMaxLayers, &((gpt_options*)options)->shape.layers);
}

static bool set_width(void* options, const char* text) {
  return parse_count(text, 1, kMaxWidth, &((gpt_options*)options)->shape.width);
}

static bool set_heads(void* options, const char* text) {
  return parse_count(text, 1, kMaxWidth, &((gpt_options*)options)->shape.heads);
}

static bool set_context(void* options, const char* text) {
  return parse_count(text, 1, kMaxContext, &((gpt_options*)options)->shape.context);
}

static bool set_epochs(void* options, const char* text) {
  return parse_count(text, 1, 1000000, &((gpt_options*)options)->epochs);
}

static bool set_batch(void* options, const char* text) {
  return parse_count(text, 1, 1000000, &((gpt_options*)options)->batch);
}

static bool set_accumulate(void* options, const char* text) {
  return parse_count(text, 1, 1000000, &((gpt_options*)options)->accumulate);
}

/* Selective recomputation is that of the attention alone, as Megatron's. */
const recompute_choice gpt_recompute_choices[kRecomputeChoices] = {
    {"none", NULL}, {"full", "transformer_block"}, {"selective", "multihead_attention"}};

static bool set_recompute(void* options, const char* text) {
  for (size_t i = 0; i < kRecomputeChoices; ++i) {
    if (strcmp(text, gpt_recompute_choices[i].name) != 0) continue;
    ((gpt_options*)options)->recomputed_kind = gpt_recompute_choices[i].kind;
    return true;
  }
  return false;
}

static bool set_generate(void* options, const char* text) {
  return parse_count(text, 0, 1000000000, &((gpt_options*)options)->writing.length);
}

static bool set_temperature(void* options, const char* text) {
  double* temperature = &((gpt_options*)options)->writing.temperature;
  return parse_number(text, 0, 100, temperature) && (*temperature == 0 || *temperature >= 0.01);
}

static bool set_top_k(void* options, const char* text) {
  return parse_count(text, 1, kMostTokens, &((gpt_options*)options)->writing.top_k);
}

static bool set_top_p(void* options, const char* text) {
  double* top_p = &((gpt_options*)options)->writing.top_p;
  return parse_number(text, 0, 1, top_p) && *top_p > 0;
}

static bool set_import(void* options, const char* text) {
  return parse_text(text, &((gpt_options*)options)->weights_in);
}

static bool set_export(void* options, const char* text) {
  return parse_text(text, &((gpt_options*)options)->weights_out);
}

static const flag kFlags[] = {
    {"--text", "FILE", TEXT_FILE, "a file name",
     "the text; its last tenth is held out for validation. samples/data/make_text writes the default", set_text},
    {"--vocab", "N", "256", "a whole number from 256 to 65536",
     "tokens of the text: its bytes, and pairs learnt from it; DIR.vocab beside the checkpoint keeps them", set_vocab},
    {"--preset", "P", "tiny", "tiny, small or gpt2",
     "sizes of the model: tiny trains in a minute, gpt2 has 124 million weights", set_preset},
    {"--layers", "N", NULL, "a whole number from 1 to 4096", "transformer blocks, instead of the preset's", set_layers},
    {"--width", "N", NULL, "a whole number from 1 to 1048576", "features of a position, instead of the preset's",
     set_width},
    {"--heads", "N", NULL, "a whole number from 1 to 1048576", "attention heads, instead of the preset's", set_heads},
    {"--context", "N", NULL, "a whole number from 1 to 1048576", "tokens that the model sees, instead of the preset's",
     set_context},
    {"--vocabulary", "N", NULL, "a whole number from 256 to 16777216",
     "tokens of the model, instead of the preset's; the text uses the first of them", set_vocabulary},
    {"--epochs", "N", "1", "a whole number from 1 to 1000000", "passes over the training text", set_epochs},
    {"--batch", "N", "16", "a whole number from 1 to 1000000", "windows of text per batch", set_batch},
    {"--accumulate", "N", "1", "a whole number from 1 to 1000000", "batches per step, whose gradients are added",
     set_accumulate},
    {"--recompute", "R", "none", "none, full or selective",
     "less memory for more time: computes whole blocks, or their attention, again in backward", set_recompute},
    {"--generate", "N", "200", "a whole number from 0 to 1000000000", "bytes of text to write at the end",
     set_generate},
    {"--temperature", "X", "0.8", "0, or a number from 0.01 to 100",
     "divides the logits of the written text; 0: always the most probable token", set_temperature},
    {"--top-k", "N", NULL, "a whole number from 1 to 65536", "draw from this number of the most probable tokens",
     set_top_k},
    {"--top-p", "X", "1", "a number above 0, up to 1", "draw from the most probable tokens that reach this probability",
     set_top_p},
    {"--import", "FILE", NULL, "a file name", "begin with weights in GPT-2's safetensors layout", set_import},
    {"--export", "FILE", NULL, "a file name", "write the weights in GPT-2's safetensors layout at the end", set_export},
};

static void fill_from_preset(gpt_options* options) {
  gpt_shape* shape = &options->shape;
  if (shape->vocabulary == 0) {
    const int64_t preset = options->preset.vocabulary, tokens = options->token_count;
    shape->vocabulary = preset > tokens ? preset : tokens;
  }
  if (shape->context == 0) shape->context = options->preset.context;
  if (shape->layers == 0) shape->layers = options->preset.layers;
  if (shape->width == 0) shape->width = options->preset.width;
  if (shape->heads == 0) shape->heads = options->preset.heads;
}

static bool heads_divide_width(const gpt_shape* shape) {
  if (shape->width % shape->heads == 0) return true;
  print_error("--heads '%lld': expected a number that divides the width %lld", (long long)shape->heads,
              (long long)shape->width);
  return false;
}

static bool vocabulary_holds_tokens(const gpt_options* options) {
  if (options->shape.vocabulary >= options->token_count) return true;
  print_error("--vocabulary '%lld': expected at least the %lld tokens of --vocab", (long long)options->shape.vocabulary,
              (long long)options->token_count);
  return false;
}

bool gpt_options_parse(int argc, char** argv, const char* summary, gpt_options* out, int* out_exit_status) {
  *out = (gpt_options){.text = NULL};
  const flag_table tables[] = {
      {kFlags, sizeof kFlags / sizeof kFlags[0], out}, train_options_flags(&out->train), run_options_flags(&out->run)};
  const command_line line = {summary, tables, sizeof tables / sizeof tables[0]};
  if (!flags_parse(&line, argc, argv, out_exit_status)) return false;
  *out_exit_status = kExitUsage;
  fill_from_preset(out);
  return heads_divide_width(&out->shape) && vocabulary_holds_tokens(out) && run_options_are_consistent(&out->run);
}
