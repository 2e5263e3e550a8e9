/* Every order of calls on a gradient scaler with one and with two optimizers, compared with a small model. */
#include "test_modules.h"

enum { kLength = 5, kScale = 8 };

typedef enum Stage { kReady, kUnscaled, kStepped } Stage;

/* One optimizer and its state in the model. */
typedef struct Player {
  htone_optimizer* optimizer;
  Stage stage;
  int64_t steps;
} Player;

typedef struct Game {
  htone_grad_scaler* scaler;
  htone_tensor* loss;
  Player players[2];
  int count;
} Game;

static Player make_player(void) {
  Player player = {NULL, kReady, 0};
  htone_module* module = make_linear(test_device(), 2, 1, 1);
  assert_ok(htone_optimizer_create(module, &(htone_optimizer_options)HTONE_SGD_OPTIONS_INIT, &player.optimizer));
  keep_optimizer(player.optimizer);
  backward(sum_of(forward(module, make_ramp(HTONE_F32, 2, 1, 2))));
  return player;
}

/* The scale is static, so no order of calls changes it. */
static Game make_game(int count) {
  Game game = {NULL, make_scalar(HTONE_F32, 3), {{0}}, count};
  htone_grad_scaler_options options;
  assert_ok(htone_grad_scaler_options_init(&options));
  options.initial_scale = kScale;
  options.growth_factor = options.backoff_factor = 1;
  assert_ok(htone_grad_scaler_create(test_device(), &options, &game.scaler));
  keep_grad_scaler(game.scaler);
  for (int i = 0; i < count; ++i) game.players[i] = make_player();
  return game;
}

/* Scaling is legal at any time and changes nothing. */
static void scale(Game* game) {
  htone_tensor* scaled = NULL;
  double value = 0;
  assert_ok(htone_grad_scaler_scale(game->scaler, game->loss, &scaled));
  assert_ok(htone_tensor_item(scaled, &value));
  assert_ok(htone_tensor_release(scaled));
  assert_float_equal(value, 3 * kScale, 0);
}

/* Legal once, before the step. */
static void unscale(Game* game, Player* player) {
  const Stage stage = player->stage;
  if (stage == kReady) {
    assert_ok(htone_grad_scaler_unscale(game->scaler, player->optimizer));
    player->stage = kUnscaled;
  } else {
    assert_fails(htone_grad_scaler_unscale(game->scaler, player->optimizer), HTONE_ERROR_STATE,
                 stage == kUnscaled ? "unscaled already" : "stepped already");
  }
}

/* Legal once, with or without a previous unscale. */
static void step(Game* game, Player* player) {
  if (player->stage != kStepped) {
    assert_ok(htone_grad_scaler_step(game->scaler, player->optimizer));
    player->stage = kStepped;
    ++player->steps;
  } else {
    assert_fails(htone_grad_scaler_step(game->scaler, player->optimizer), HTONE_ERROR_STATE, "stepped already");
  }
}

/* Legal after any optimizer was unscaled or stepped. Afterwards all optimizers are ready again. */
static void update(Game* game) {
  if (game->players[0].stage != kReady || game->players[1].stage != kReady) {
    assert_ok(htone_grad_scaler_update(game->scaler));
    game->players[0].stage = game->players[1].stage = kReady;
  } else {
    assert_fails(htone_grad_scaler_update(game->scaler), HTONE_ERROR_STATE, "no optimizer was unscaled or stepped");
  }
}

static void assert_as_modelled(const Game* game) {
  for (int i = 0; i < game->count; ++i) {
    const Player* player = &game->players[i];
    double factor = 0;
    int64_t steps = -1;
    assert_ok(htone_optimizer_grad_factor(player->optimizer, &factor));
    assert_float_equal(factor, player->stage == kUnscaled ? 1.0 / kScale : 1.0, 0);
    assert_ok(htone_optimizer_step_count(player->optimizer, &steps));
    assert_int_equal(steps, player->steps);
  }
}

/* Call 0 scales, 1 updates, 2 and 3 unscale and step the first optimizer, 4 and 5 the second. */
static void make_call(Game* game, int call) {
  if (call == 0) {
    scale(game);
  } else if (call == 1) {
    update(game);
  } else if (call % 2 == 0) {
    unscale(game, &game->players[call / 2 - 1]);
  } else {
    step(game, &game->players[call / 2 - 1]);
  }
  assert_as_modelled(game);
}

/* Runs every sequence of kLength calls, which covers all shorter ones. An update resets the state. */
static void run_all_orders(int optimizers) {
  Game game = make_game(optimizers);
  const int calls = 2 + 2 * optimizers;
  int orders = 1;
  for (int i = 0; i < kLength; ++i) orders *= calls;
  for (int order = 0; order < orders; ++order) {
    for (int i = 0, rest = order; i < kLength; ++i, rest /= calls) make_call(&game, rest % calls);
    if (game.players[0].stage != kReady || game.players[1].stage != kReady) update(&game);
  }
}

/* A18 */
static void every_order_with_one_optimizer_is_legal_or_refused(void** state) {
  (void)state;
  run_all_orders(1);
}

/* A18 */
static void every_order_with_two_optimizers_is_legal_or_refused(void** state) {
  (void)state;
  run_all_orders(2);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_order_with_one_optimizer_is_legal_or_refused),
      cmocka_unit_test(every_order_with_two_optimizers_is_legal_or_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
