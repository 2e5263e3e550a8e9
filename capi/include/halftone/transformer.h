/** @file
 * Transformers: attention of several heads, blocks, and whole models over tokens, such as GPT-2 or an encoder. They
 * accept a mask, a cache of keys and values, and positions as further inputs of htone_module_forward_n. Names of parts
 * and parameters are those of GPT-2's published tensors: wte, wpe, h.0.ln_1, h.0.attn.c_attn, h.0.attn.c_proj,
 * h.0.ln_2, h.0.mlp.c_fc, h.0.mlp.c_proj, ln_f. GPT-2 stores its matrices c_attn, c_fc and c_proj as [in, out]; here
 * weights are [out, in], so they are transposed when such a file is read.
 *
 * @code
 * const int64_t tokens[] = {7, 1, 3}, shape[] = {1, 3};
 * htone_module* gpt;
 * htone_tensor *input, *logits;
 * htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
 * options.vocabulary = options.positions = 8;
 * options.width = options.heads = options.layers = 2;
 * check(htone_module_create_transformer(device, &options, &gpt));
 * check(htone_tensor_create_copy(device, HTONE_I64, 2, shape, tokens, &input));
 * check(htone_module_forward(gpt, input, NULL, &logits)); // [1, 3, 8]
 * check(htone_tensor_numel(logits, &count));
 * assert(count == 24);
 * @endcode
 */
#ifndef HALFTONE_TRANSFORMER_H
#define HALFTONE_TRANSFORMER_H

#include "halftone/forward.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of htone_module_create_multihead_attention. */
typedef struct htone_multihead_attention_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t bias;         /**< not 0: the projections have biases; default 1 */
  int64_t kv_heads;  /**< heads of keys and values, which groups of query heads share; default 0, which means heads */
  double dropout;    /**< share of the attention weights dropped in training, in [0, 1); default 0 */
  int32_t causal;    /**< not 0: a position sees itself and those before it; default 0 */
  htone_dtype dtype; /**< of the weights: HTONE_F32 (default), HTONE_F64, HTONE_F16 or HTONE_BF16 */
  int32_t rotary;    /**< not 0: queries and keys are rotated by their positions, which begin with 0, as by
                          htone_rotary_embedding; width / heads must be even; default 0 */
  int32_t rotary_interleaved; /**< as htone_rotary_options.interleaved; default 0 */
  double rotary_base;         /**< as htone_rotary_options.base; default 10000 */
} htone_multihead_attention_options;

/** The defaults, to initialize a htone_multihead_attention_options where it is declared. */
#define HTONE_MULTIHEAD_ATTENTION_OPTIONS_INIT \
  { sizeof(htone_multihead_attention_options), 1, 0, 0.0, 0, HTONE_F32, 0, 0, 10000.0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_multihead_attention_options_init(htone_multihead_attention_options* options);

/** Makes attention of several heads with linear layers around it. Its inputs are query [batch, queries, width], then
 * five that may be absent: key and value [batch, keys, width], mask, cache and positions. Without a key the query's
 * sequence attends to itself; without a value the key's sequence gives the values. The mask is that of
 * htone_scaled_dot_product_attention and broadcasts to [batch, heads, queries, keys]. The cache is one layer of that of
 * htone_module_create_transformer, [2, batch, kv_heads, positions, depth], where depth is width / heads and keys are
 * positions; only causal attention of a sequence to itself accepts one. Positions, i64 or i32, broadcast to
 * [batch, queries]; only rotary attention of a sequence to itself accepts them. The output is [batch, queries, width].
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] width features of a position; a multiple of heads, at most 2^24.
 * @param[in] heads at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with the parts "c_attn", whose weight has the rows of queries, keys and values in turn, and "c_proj".
 *   Weights begin as normal numbers of deviation 0.02, biases as 0. Hooks on c_attn run if neither key nor value is
 *   given; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source Vaswani et al., arXiv:1706.03762; grouped heads: Ainslie et al., arXiv:2305.13245.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_multihead_attention(htone_device* device, int64_t width, int64_t heads,
                                                               const htone_multihead_attention_options* options,
                                                               htone_module** out);

/** Places of the norms of a block. */
typedef enum htone_norm_placement {
  HTONE_NORM_PRE = 0,                        /**< before attention and feed-forward part, as GPT-2 */
  HTONE_NORM_POST = 1,                       /**< after each sum with the residual stream, as the first transformer */
  HTONE_NORM_PLACEMENT_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_norm_placement;

/** Norms of a block. */
typedef enum htone_norm_kind {
  HTONE_NORM_LAYER = 0,                 /**< htone_layer_norm with weight and, unless bias is 0, bias */
  HTONE_NORM_RMS = 1,                   /**< htone_rms_norm with weight */
  HTONE_NORM_KIND_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_norm_kind;

/** Feed-forward parts of a block, with the linear layers c_fc, c_proj and c_gate. */
typedef enum htone_feed_forward {
  HTONE_FEED_FORWARD_GELU = 0,             /**< c_proj(gelu(c_fc(x))) with the error function */
  HTONE_FEED_FORWARD_GELU_TANH = 1,        /**< the approximation by the hyperbolic tangent, as GPT-2 */
  HTONE_FEED_FORWARD_SWIGLU = 2,           /**< c_proj(silu(c_gate(x)) * c_fc(x)) */
  HTONE_FEED_FORWARD_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_feed_forward;

/** Outputs of a whole model. */
typedef enum htone_output_head {
  HTONE_HEAD_NONE = 0,                    /**< the last block's features [batch, time, width], for an encoder */
  HTONE_HEAD_TIED = 1,                    /**< logits by the weight of wte, as GPT-2; no part of its own */
  HTONE_HEAD_OWN = 2,                     /**< logits by a linear layer "lm_head" without bias */
  HTONE_OUTPUT_HEAD_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_output_head;

/** The ways in which a model knows the positions of its tokens. */
typedef enum htone_position_kind {
  HTONE_POSITION_LEARNED = 0, /**< wpe has an embedding for each position, as GPT-2 */
  HTONE_POSITION_ROTARY = 1,  /**< queries and keys are rotated by them (htone_rotary_embedding), as Llama */
  HTONE_POSITION_NONE = 2,    /**< by the causal mask alone */
  HTONE_POSITION_KIND_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_position_kind;

/** Settings of htone_module_create_transformer and htone_module_create_transformer_block. The defaults are those of
 * GPT-2 with 124 million parameters, but for dropout.
 */
typedef struct htone_transformer_options {
  uint32_t struct_size;                /**< sizeof of this structure */
  int32_t bias;                        /**< not 0: linear layers and layer norms have biases; default 1 */
  int64_t vocabulary;                  /**< number of tokens, 1 to 2^31; default 50257 */
  int64_t positions;                   /**< longest context where positions are learned, 1 to 2^31; default 1024 */
  int64_t layers;                      /**< number of blocks, 1 to 4096; default 12 */
  int64_t width;                       /**< features of a position, 1 to 2^24; default 768 */
  int64_t heads;                       /**< attention heads, which divide width; default 12 */
  int64_t kv_heads;                    /**< heads of keys and values, which divide heads; default 0: as heads */
  int64_t hidden;                      /**< width of the feed-forward part, to 2^26; default 0: 4 width */
  double dropout;                      /**< of embeddings, attention weights and results, in [0, 1); default 0 */
  double epsilon;                      /**< of the norms, positive or 0; default 1e-5 */
  htone_norm_placement norm_placement; /**< default HTONE_NORM_PRE */
  htone_norm_kind norm_kind;           /**< default HTONE_NORM_LAYER */
  htone_feed_forward feed_forward;     /**< default HTONE_FEED_FORWARD_GELU_TANH */
  htone_output_head head;              /**< default HTONE_HEAD_TIED */
  int32_t causal;                      /**< not 0 (default): a position sees itself and those before it */
  htone_dtype dtype;                   /**< of the weights: HTONE_F32 (default), HTONE_F64, HTONE_F16 or HTONE_BF16 */
  htone_position_kind position_kind; /**< default HTONE_POSITION_LEARNED. Rotary positions need an even width / heads */
  int32_t rotary_interleaved;        /**< as htone_rotary_options.interleaved; default 0 */
  double rotary_base;                /**< as htone_rotary_options.base; default 10000 */
} htone_transformer_options;

/** The defaults, to initialize a htone_transformer_options where it is declared. */
#define HTONE_TRANSFORMER_OPTIONS_INIT                                                                                 \
  {                                                                                                                    \
    sizeof(htone_transformer_options), 1, 50257, 1024, 12, 768, 12, 0, 0, 0.0, 1e-5, HTONE_NORM_PRE, HTONE_NORM_LAYER, \
        HTONE_FEED_FORWARD_GELU_TANH, HTONE_HEAD_TIED, 1, HTONE_F32, HTONE_POSITION_LEARNED, 0, 10000.0                \
  }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_transformer_options_init(htone_transformer_options* options);

/** Makes one layer of a transformer: attention and a feed-forward part, each in a residual connection with a norm. Its
 * inputs are [batch, time, width], and a mask, a cache and positions, which may be absent and are those of
 * htone_module_create_multihead_attention. The output has the shape of the first input.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] options optional; NULL means the defaults. vocabulary, positions and head are not used, layers only for
 *   the initialisation, and position_kind only where it is rotary.
 * @param[out] out with the parts "ln_1", "attn", "ln_2" and "mlp"; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source Radford et al., Language Models are Unsupervised Multitask Learners, 2019; SwiGLU: Shazeer,
 *   arXiv:2002.05202.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_transformer_block(htone_device* device,
                                                             const htone_transformer_options* options,
                                                             htone_module** out);

/** Makes a transformer over tokens: embeddings of tokens and of learned positions, blocks, a last norm if the norms are
 * before their parts, and a head. With the defaults it is a language model as GPT-2; with causal 0 and HTONE_HEAD_NONE
 * it is an encoder. Its inputs are tokens [batch, time], i64 or i32, and three that may be absent. A mask broadcasts to
 * [batch, heads, time, time]: [batch, 1, 1, time] hides padding. A cache, of htone_transformer_cache, is for causal
 * models: [layers, 2, batch, kv_heads, positions, depth], in f64, f32, f16 or bf16, where depth is width / heads. The
 * tokens use its last `time` positions, to which their keys and values are written, follow the positions before these,
 * and attend to all; a mask then broadcasts to [batch, heads, time, positions]. A forward that fails may have written
 * to the last positions. A cache is for inference: call the module in a scope of htone_no_grad_begin. Positions, i64
 * or i32, broadcast to [batch, time]; a model with HTONE_POSITION_NONE accepts none. Without them a row's first token,
 * in the cache if there is one, has position 0. With padding before a row's tokens, hidden by the mask, pass positions
 * that begin with 0 at the first token; the padding may have any, in [0, options.positions) where they are learned. The
 * output is [batch, time, vocabulary], or [batch, time, width] without a head.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with the parts "wte", "wpe", "h", "ln_f" and "lm_head"; wpe, ln_f and lm_head where there are such.
 *   Weights begin as normal numbers of deviation 0.02, those of c_proj of 0.02 / sqrt(2 layers), biases as 0; owned by
 *   the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source Radford et al., Language Models are Unsupervised Multitask Learners, 2019; rotary positions: Su et al.,
 *   arXiv:2104.09864.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_transformer(htone_device* device, const htone_transformer_options* options,
                                                       htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
