/* LSTM and GRU: cells and layers against PyTorch's results, in f64, for weights that both compute from one formula. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "test_optimizers.h"

/* Results of torch.nn.LSTM and GRU (two layers, bidirectional) and of their cells, for the numbers of `pattern`. "Zero"
 * begins with states of zeros. */
static const double kLstmZeroOutput[] = {
    -0.10253318441943812, 0.14234539015475686,  0.23473431355454116,  -0.11679475947386342, -0.13373249421805392,
    0.22038500423902496,  0.21109788187943773,  -0.13689738204609436, -0.178920343155393,   0.27356768624798905,
    0.14219753081389092,  -0.09816185176247154, -0.08040656973651987, 0.131983033000772,    0.24437096276912296,
    -0.17611475265081222, -0.140937092248635,   0.22029884167253183,  0.21317751768369622,  -0.13040073691597004,
    -0.1892687623588969,  0.2662019260176681,   0.13709664292026535,  -0.060045045463709104};
static const double kLstmOutput[] = {
    0.023015720608320932, 0.09584589941757131,  0.24495848947614224,  -0.20794068163899512, -0.05586199403534534,
    0.18418962978018633,  0.2423393647048232,   -0.21539537515548488, -0.11749479842751992, 0.2539991605407209,
    0.25872557297272,     -0.20922351599023,    0.07456153405684215,  0.105806796361726,    0.17639438088766013,
    -0.24978998867954488, -0.03551898861562459, 0.19945679965205854,  0.1117403648872223,   -0.18841355512881647,
    -0.10524525222787173, 0.2541664957403927,   -0.069342092663441,   -0.14746524879938896};
static const double kLstmHidden[] = {
    0.08656255312553732,  0.22031694748175737,  0.0998597394291505,   0.3137322360599203,
    0.1553944629363835,   -0.2855215315748472,  0.36712380634282576,  -0.2596420470485435,
    -0.11749479842751992, 0.2539991605407209,   -0.10524525222787173, 0.2541664957403927,
    0.24495848947614224,  -0.20794068163899512, 0.17639438088766013,  -0.24978998867954488};
static const double kLstmCell[] = {
    0.33214275976701363,  0.31986666288059074, 0.5685746802496271,   0.5914868628765207,
    0.19957166188075134,  -0.6092756360067025, 0.5935837444077885,   -0.864705450658038,
    -0.44977004704911555, 0.8665451829295068,  -0.39482871740956926, 0.8938039192371663,
    0.5766991397864986,   -0.4469992738678627, 0.36453330630060143,  -0.5204015688158382};
static const double kLstmGradInput[] = {0.00957029474696839,   -0.0068866374147894815, 0.0009653604599594613,
                                        0.01547053574533627,   -0.0008214667156005557, 0.015770798611351246,
                                        -0.007137750818628802, 0.010164248770282203,   0.013005181119824134,
                                        -0.021026311304854387, 0.022990449847835777,   -0.011465413589779216};
static const double kLstmGradWeight[] = {
    -0.004731921076049523,  0.0006463092706859375,  0.010291629181585039,  -0.008070728473735947,
    -0.0020392598485175824, 0.00030013766322475383, 0.006881883555209946,  0.005879304253806294,
    -0.007689516746393553,  0.013636219766845299,   0.0006545578892907123, -0.03376210315699081,
    -0.013883173278312615,  0.0031312942536444936,  0.016561139799310728,  -0.0051952423266941935};
static const double kLstmGradHidden[] = {
    0.004783240891422907,   -0.0006851828134943204, -0.005381010602303988,  0.00732620944568182,
    -0.0011238466328441948, -0.01095791757472152,   -0.0015981964782975514, 0.021402142119441976,
    0.07156125976997937,    -0.016371037932032012,  -0.06555435985337474,   -0.00044630559777181743,
    0.07095895353308157,    0.031697123522942,      -0.010069218416370996,  -0.10347553804184213};
static const double kLstmCellHidden[] = {-0.07291459638614009, 0.47368550978517965, 0.026600414926521165,
                                         0.4624990711581294};
static const double kLstmCellCell[] = {-0.2502097763381799, 0.6270241496170561, 0.10767943080454767, 0.61559389704436};
static const double kGruZeroOutput[] = {
    -0.14614419891398117, 0.15535323706965948,  0.07991805534987978, -0.2735389904169607, -0.26898202481379496,
    0.32295512671738585,  0.11983482599028608,  -0.4613123479077521, -0.3940873737057021, 0.45996684932175713,
    0.12883671254304235,  -0.3333602427539035,  -0.1381219293227795, 0.15173112277266482, 0.04698052287482124,
    -0.37303326254651425, -0.26357752195088974, 0.29609150651134014, 0.1023165822665804,  -0.30568938446270094,
    -0.38544331021317324, 0.38276991595099585,  0.08248570043970635, -0.14188031914998323};
static const double kGruOutput[] = {
    -0.12381580699616701,  -0.3506366707321895,  0.2825426813081493,    -0.39272791031623466, -0.3066485173902794,
    0.0010524637729960595, 0.32333060465434443,  -0.7515080634415815,   -0.5073696654168478,  0.27269795710911165,
    0.3489860104282406,    -0.7298785051574131,  -0.036627707964132006, -0.3039697377072399,  0.19656330539055372,
    -0.60501692462656,     -0.22343083039030254, 0.011510064146005972,  0.3129860461590894,   -0.6712456136739604,
    -0.4152606209926452,   0.24506943278748944,  0.39001401720532897,   -0.5811525776585399};
static const double kGruHidden[] = {
    0.32395067502030955,  0.21906141747433666,  0.36748299199800916, 0.2837096311365672,
    -0.03495444154604507, -0.3709477658395276,  0.21536061165114084, -0.2969063726216305,
    -0.5073696654168478,  0.27269795710911165,  -0.4152606209926452, 0.24506943278748944,
    0.2825426813081493,   -0.39272791031623466, 0.19656330539055372, -0.60501692462656};
static const double kGruGradInput[] = {0.011604287699181077, 0.006126235307030764,  -0.029581409719530386,
                                       0.03787425970397744,  -0.038633729966023135, 0.022786467734493707,
                                       -0.05109537415701458, 0.06724947117662741,   0.05818475913163825,
                                       -0.11236133362849941, 0.06934078728068296,   -0.027755394525574312};
static const double kGruGradWeight[] = {-0.0022355520698305793, 0.003278512443586956,  -0.009687708470688897,
                                        -0.006021492369856629,  -0.013251234265195257, 0.0058022746576681435,
                                        -0.01786172358698831,   0.008077962756153082,  0.03194064668025047,
                                        -0.029958321063512885,  -0.0871653146960794,   -0.058331270735424004};
static const double kGruGradHidden[] = {
    0.0017047459000318207, 0.028763008718122766, 0.017635100159938633, 0.0335726704477088,
    0.042925393656231284,  -0.14206291508115496, -0.07382650114419716, 0.21308213865418085,
    0.6808721185898702,    -0.16891281922694748, -0.386556697085782,   0.669035116598341,
    -0.4534774810336909,   0.09260793475006408,  0.14955490760457713,  -0.2858010832953498};
static const double kGruCellHidden[] = {0.412679013216798, 0.08506301289546025, 0.599622249965486, 0.44529441960976035};

/* Element i of tensor k: multiples of 1/8 from -0.75 to 0.75. */
static htone_tensor* pattern_of(int k, int ndim, const int64_t* shape) {
  double values[64];
  htone_tensor* out = NULL;
  size_t count = 1;
  for (int i = 0; i < ndim; ++i) count *= (size_t)shape[i];
  for (size_t i = 0; i < count; ++i) values[i] = ((int)(i * 7 + (size_t)k * 5) % 13 - 6) / 8.0;
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_F64, ndim, shape, values, &out));
  return keep_tensor(out);
}
#define pattern(k, ...) pattern_of((k), (int)COUNT_OF(((const int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__})

/* [2, 3, 2] */
static htone_tensor* make_input(void) {
  double values[12];
  for (int i = 0; i < 12; ++i) values[i] = (i * 5 % 7 - 3) / 4.0;
  return make_tensor(HTONE_F64, values, 3, 2, 3, 2);
}

typedef htone_status (*Create)(htone_device*, int64_t, int64_t, const htone_recurrent_options*, htone_module**);

static htone_module* make_layer(Create create, const htone_recurrent_options* options, int64_t in, int64_t hidden) {
  htone_module* module = NULL;
  assert_ok(create(test_device(), in, hidden, options, &module));
  return keep_module(module);
}

static htone_recurrent_options two_layers(void) {
  htone_recurrent_options options;
  assert_ok(htone_recurrent_options_init(&options));
  options.num_layers = 2;
  options.bidirectional = 1;
  options.dtype = HTONE_F64;
  return options;
}

/* Two bidirectional layers whose parameters have PyTorch's names and the numbers of `pattern`. */
static htone_module* make_patterned(Create create, int64_t gates) {
  static const char* const names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
  static const char* const cells[] = {"_l0", "_l0_reverse", "_l1", "_l1_reverse"};
  const htone_recurrent_options options = two_layers();
  htone_module* module = make_layer(create, &options, 2, 2);
  htone_state_dict* state = NULL;
  assert_ok(htone_state_dict_create(&state));
  keep_state_dict(state);
  for (int k = 0; k < 16; ++k) {
    char name[32];
    const int64_t shape[] = {gates * 2, k % 4 == 0 && k >= 8 ? 4 : 2};
    snprintf(name, sizeof name, "%s%s", names[k % 4], cells[k / 4]);
    assert_ok(htone_state_dict_add(state, name, pattern_of(k, k % 4 < 2 ? 2 : 1, shape)));
  }
  assert_ok(htone_module_load_state_dict(module, state, NULL)); /* strict: every name fits */
  return module;
}

#define assert_all(tensor, expected) check_values((tensor), 1e-14, (expected), COUNT_OF(expected), __FILE__, __LINE__)

static void layers_begin_with_zeros_and_match_pytorch(void** state) {
  (void)state;
  htone_tensor* lstm = forward(make_patterned(htone_module_create_lstm, 4), make_input());
  assert_shape(lstm, 2, 3, 4);
  assert_all(lstm, kLstmZeroOutput);
  assert_all(forward(make_patterned(htone_module_create_gru, 3), make_input()), kGruZeroOutput);
}

static void an_lstm_from_states_matches_pytorch_with_its_gradients(void** state) {
  (void)state;
  htone_module* module = make_patterned(htone_module_create_lstm, 4);
  htone_tensor *input = leaf(make_input()), *hidden = leaf(pattern(3, 4, 2, 2)), *weight = weights_of(module, 0);
  htone_tensor *out = NULL, *out_hidden = NULL, *out_cell = NULL;
  assert_ok(htone_module_forward_lstm(module, input, hidden, pattern(9, 4, 2, 2), &out, &out_hidden, &out_cell));
  assert_all(keep_tensor(out), kLstmOutput);
  assert_all(keep_tensor(out_hidden), kLstmHidden);
  assert_all(keep_tensor(out_cell), kLstmCell);
  assert_shape(out_hidden, 4, 2, 2);
  backward(sum_of(apply2(htone_mul, out, pattern(2, 2, 3, 4))));
  assert_all(grad_of(input), kLstmGradInput);
  assert_all(grad_of(weight), kLstmGradWeight);
  assert_all(grad_of(hidden), kLstmGradHidden);
}

static void a_gru_from_a_state_matches_pytorch_with_its_gradients(void** state) {
  (void)state;
  htone_module* module = make_patterned(htone_module_create_gru, 3);
  htone_tensor *input = leaf(make_input()), *hidden = leaf(pattern(3, 4, 2, 2)), *weight = weights_of(module, 0);
  htone_tensor *out = NULL, *out_hidden = NULL;
  assert_ok(htone_module_forward_gru(module, input, hidden, &out, &out_hidden));
  assert_all(keep_tensor(out), kGruOutput);
  assert_all(keep_tensor(out_hidden), kGruHidden);
  backward(sum_of(apply2(htone_mul, out, pattern(2, 2, 3, 4))));
  assert_all(grad_of(input), kGruGradInput);
  assert_all(grad_of(weight), kGruGradWeight);
  assert_all(grad_of(hidden), kGruGradHidden);
}

static void cells_match_pytorch(void** state) {
  (void)state;
  htone_tensor *hidden = NULL, *cell = NULL;
  assert_ok(htone_lstm_cell(pattern(1, 2, 3), pattern(2, 2, 2), pattern(3, 2, 2), pattern(0, 8, 3), pattern(1, 8, 2),
                            pattern(2, 8), pattern(3, 8), &hidden, &cell));
  assert_all(keep_tensor(hidden), kLstmCellHidden);
  assert_all(keep_tensor(cell), kLstmCellCell);
  assert_ok(htone_gru_cell(pattern(1, 2, 3), pattern(2, 2, 2), pattern(0, 6, 3), pattern(1, 6, 2), pattern(2, 6),
                           pattern(3, 6), &hidden));
  assert_all(keep_tensor(hidden), kGruCellHidden);
}

/* A layer over one step is its cell, and the last state of a sequence continues it. */
static void a_sequence_may_be_cut_anywhere(void** state) {
  (void)state;
  htone_recurrent_options options = two_layers();
  options.bidirectional = 0;
  htone_module* module = make_layer(htone_module_create_lstm, &options, 3, 5);
  htone_tensor *input = make_noise(HTONE_F64, 4, 3, 2, 7, 3), *whole = NULL, *hidden = NULL, *cell = NULL;
  htone_tensor *first = NULL, *second = NULL, *last_hidden = NULL, *last_cell = NULL;
  assert_ok(htone_module_forward_lstm(module, input, NULL, NULL, &whole, &hidden, &cell));
  keep_tensor(whole);
  double* expected = values_of(slice_of(whole, 1, 4, 7, 1));
  double* expected_cell = values_of(keep_tensor(cell));
  keep_tensor(hidden);
  assert_ok(htone_module_forward_lstm(module, slice_of(input, 1, 0, 4, 1), NULL, NULL, &first, &hidden, &cell));
  keep_tensor(first);
  assert_ok(htone_module_forward_lstm(module, slice_of(input, 1, 4, 7, 1), keep_tensor(hidden), keep_tensor(cell),
                                      &second, &last_hidden, &last_cell));
  keep_tensor(last_hidden);
  check_values(keep_tensor(second), 1e-15, expected, 30, __FILE__, __LINE__);
  check_values(keep_tensor(last_cell), 1e-15, expected_cell, 20, __FILE__, __LINE__);
  free(expected);
  free(expected_cell);
}

static void every_dtype_is_computed_and_autocast_lowers_the_products(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
  static const double tolerances[] = {1e-15, 1e-6, 1e-2, 5e-2};
  Create const creates[] = {htone_module_create_lstm, htone_module_create_gru};
  for (size_t kind = 0; kind < 2; ++kind) {
    htone_recurrent_options options = two_layers();
    htone_module* wide = make_layer(creates[kind], &options, 3, 4);
    htone_tensor* input = make_noise(HTONE_F64, 4, 3, 2, 5, 3);
    double* expected = values_of(forward(wide, input));
    for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
      htone_state_dict* weights = NULL;
      options.dtype = dtypes[i];
      htone_module* module = make_layer(creates[kind], &options, 3, 4);
      assert_ok(htone_module_state_dict(wide, &weights));
      assert_ok(htone_module_load_state_dict(module, keep_state_dict(weights), NULL));
      htone_tensor* out = forward(module, cast_of(input, dtypes[i]));
      assert_int_equal(dtype_of(out), dtypes[i]);
      check_values(out, tolerances[i], expected, 80, __FILE__, __LINE__);
    }
    options.dtype = HTONE_F32;
    htone_module* module = make_layer(creates[kind], &options, 3, 4);
    htone_state_dict* weights = NULL;
    htone_autocast_policy* bf16 = NULL;
    htone_tensor* out = NULL;
    assert_ok(htone_module_state_dict(wide, &weights));
    assert_ok(htone_module_load_state_dict(module, keep_state_dict(weights), NULL));
    assert_ok(htone_autocast_policy_create(HTONE_BF16, &bf16));
    assert_ok(htone_module_forward(module, cast_of(input, HTONE_F32), keep_policy(bf16), &out));
    assert_int_equal(dtype_of(keep_tensor(out)), HTONE_F32); /* the states stay wide */
    check_values(out, 5e-2, expected, 80, __FILE__, __LINE__);
    backward(sum_of(out));
    grad_of(weights_of(module, 0));
    free(expected);
  }
}

static void layers_without_bias_have_weights_alone_and_dropout_is_between_layers(void** state) {
  (void)state;
  htone_recurrent_options options = two_layers();
  size_t count = 0;
  options.bias = 0;
  options.bidirectional = 0;
  options.dropout = 1;
  htone_module* module = make_layer(htone_module_create_gru, &options, 3, 4);
  assert_ok(htone_module_parameter_count(module, &count));
  assert_int_equal(count, 4);
  htone_tensor *one = make_noise(HTONE_F64, 1, 3, 1, 2, 3), *other = make_noise(HTONE_F64, 2, 3, 1, 2, 3);
  double* dropped = values_of(forward(module, one)); /* the second layer sees zeros */
  check_values(forward(module, other), 0, dropped, 8, __FILE__, __LINE__);
  assert_ok(htone_module_set_training(module, 0));
  double *seen = values_of(forward(module, one)), *others = values_of(forward(module, other));
  assert_memory_not_equal(seen, others, 8 * sizeof *seen);
  free(dropped);
  free(seen);
  free(others);
}

static void weights_begin_within_the_root_of_the_hidden_size(void** state) {
  (void)state;
  htone_module* module = make_layer(htone_module_create_lstm, NULL, 3, 16);
  for (size_t i = 0; i < 4; ++i) {
    htone_tensor* weights = weights_of(module, i);
    double *values = values_of(weights), largest = 0;
    for (int64_t k = 0; k < numel_of(weights); ++k) largest = fmax(largest, fabs(values[k]));
    assert_true(largest <= 0.25 && largest > 0.22);
    free(values);
  }
}

static void wrong_shapes_and_kinds_are_named(void** state) {
  (void)state;
  htone_module *lstm = make_layer(htone_module_create_lstm, NULL, 2, 3), *linear = make_linear(test_device(), 2, 2, 0);
  htone_tensor *input = make_ramp(HTONE_F32, 3, 1, 4, 2), *out = NULL, *hidden = NULL, *cell = NULL;
  assert_fails(htone_module_forward(lstm, make_ramp(HTONE_F32, 2, 4, 2), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "input [4, 2], expected [batch, time, 2]");
  assert_fails(htone_module_forward(lstm, make_ramp(HTONE_F32, 3, 1, 4, 3), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "input");
  assert_fails(htone_module_forward(lstm, make_ramp(HTONE_F32, 3, 1, 0, 2), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "input [1, 0, 2] has no step");
  assert_fails(htone_module_forward_lstm(lstm, input, make_ramp(HTONE_F32, 3, 2, 1, 3), NULL, &out, &hidden, &cell),
               HTONE_ERROR_SHAPE_MISMATCH, "hidden [2, 1, 3], expected [1, 1, 3]");
  assert_fails(htone_module_forward_lstm(lstm, input, NULL, make_ramp(HTONE_F32, 2, 1, 3), &out, &hidden, &cell),
               HTONE_ERROR_SHAPE_MISMATCH, "cell [1, 3], expected [1, 1, 3]");
  assert_fails(htone_module_forward_gru(lstm, input, NULL, &out, &hidden), HTONE_ERROR_INVALID_ARGUMENT,
               "module is of kind lstm, expected gru");
  assert_fails(htone_module_forward_lstm(linear, input, NULL, NULL, &out, &hidden, &cell), HTONE_ERROR_INVALID_ARGUMENT,
               "module is of kind linear, expected lstm");
  assert_fails(htone_gru_cell(make_ramp(HTONE_F32, 2, 2, 3), make_ramp(HTONE_F32, 2, 2, 2),
                              make_ramp(HTONE_F32, 2, 8, 3), make_ramp(HTONE_F32, 2, 6, 2), NULL, NULL, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "weight_ih [8, 3], expected [6, 3]");
  assert_true(out == NULL && hidden == NULL && cell == NULL);
  forward(lstm, make_ramp(HTONE_F32, 3, 0, 4, 2)); /* no sample is no fault */
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers_begin_with_zeros_and_match_pytorch),
      cmocka_unit_test(an_lstm_from_states_matches_pytorch_with_its_gradients),
      cmocka_unit_test(a_gru_from_a_state_matches_pytorch_with_its_gradients),
      cmocka_unit_test(cells_match_pytorch),
      cmocka_unit_test(a_sequence_may_be_cut_anywhere),
      cmocka_unit_test(every_dtype_is_computed_and_autocast_lowers_the_products),
      cmocka_unit_test(layers_without_bias_have_weights_alone_and_dropout_is_between_layers),
      cmocka_unit_test(weights_begin_within_the_root_of_the_hidden_size),
      cmocka_unit_test(wrong_shapes_and_kinds_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
