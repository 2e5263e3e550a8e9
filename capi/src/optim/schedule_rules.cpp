#include "halftone/schedule_rules.h"

#include "base/call.h"
#include "optim/plateau.h"
#include "optim/schedule_handle.h"
#include "optim/schedules.h"
#include "optim/setting_checks.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// Makes a schedule that is computed in host memory.
template <class Rule>
inline constexpr auto make_schedule = [](const auto&... settings) {
  return make_ref<ScheduleSettings>(optim::ScheduleRule{{.kind = ScheduleKind::kGiven}, make_ref<Rule>(settings...)});
};

double exponential_decay(double gamma) {
  if (!(gamma > 0.0 && gamma <= 1.0)) fail(Code::kInvalidArgument, "gamma", "gamma=%g is outside (0, 1]", gamma);
  return gamma;
}

void require_share(const char* field, double value) {
  require_setting(value >= 0.0 && value <= 1.0, field, value, "a number in [0, 1]");
}

void require_count(const char* field, int64_t value, int64_t least) {
  if (value >= least) return;
  fail(Code::kInvalidArgument, "options", "options.%s=%lld, expected at least %lld", field,
       static_cast<long long>(value), static_cast<long long>(least));
}

optim::OneCycleSettings one_cycle_settings(const htone_one_cycle_options* options) {
  const htone_one_cycle_options given =
      options_or_default(&require(options, "options"), htone_one_cycle_options(HTONE_ONE_CYCLE_OPTIONS_INIT));
  require_count("total_steps", given.total_steps, 1);
  require_share("rise_share", given.rise_share);
  require_share("start_factor", given.start_factor);
  require_share("final_factor", given.final_factor);
  require_setting(given.three_phases == 0 || given.rise_share <= 0.5, "rise_share", given.rise_share,
                  "at most 0.5 with three_phases");
  return {.total_steps = given.total_steps,
          .rise_share = given.rise_share,
          .first = given.start_factor,
          .last = given.final_factor,
          .is_linear = given.linear != 0,
          .has_three_phases = given.three_phases != 0};
}

optim::PlateauSettings plateau_settings(const htone_plateau_options* options) {
  const htone_plateau_options given = options_or_default(options, htone_plateau_options(HTONE_PLATEAU_OPTIONS_INIT));
  require_fraction("factor", given.factor);
  require_count("patience", given.patience, 0);
  require_not_negative("threshold", given.threshold);
  require_count("cooldown", given.cooldown, 0);
  require_share("min_factor", given.min_factor);
  require_not_negative("epsilon", given.epsilon);
  return {.maximizes = given.maximize != 0,
          .has_absolute_threshold = given.absolute_threshold != 0,
          .factor = given.factor,
          .patience = given.patience,
          .threshold = given.threshold,
          .cooldown = given.cooldown,
          .min_factor = given.min_factor,
          .epsilon = given.epsilon};
}

void report(const optim::ScheduleRule& rule, double metric) {
  auto* plateau = dynamic_cast<optim::PlateauSchedule*>(rule.host.get());
  if (plateau == nullptr) {
    fail(Code::kState, "schedule", "schedule is not one of htone_schedule_create_plateau, and takes no reports");
  }
  plateau->report(metric);
}

}  // namespace

htone_status htone_schedule_create_linear(double start_factor, double final_factor, int64_t total_steps,
                                          htone_schedule** out) {
  return Call(make_schedule<optim::LinearSchedule>, as<probability>(start_factor), as<probability>(final_factor),
              as<positive>(total_steps), out);
}

htone_status htone_schedule_create_exponential(double gamma, htone_schedule** out) {
  return Call(make_schedule<optim::ExponentialSchedule>, as<exponential_decay>(gamma), out);
}

htone_status htone_schedule_create_cosine_restarts(int64_t first_period, int64_t period_factor, double final_factor,
                                                   htone_schedule** out) {
  return Call(make_schedule<optim::RestartsSchedule>, as<positive>(first_period), as<positive>(period_factor),
              as<probability>(final_factor), out);
}

htone_status htone_schedule_create_one_cycle(const htone_one_cycle_options* options, htone_schedule** out) {
  return Call(make_schedule<optim::OneCycleSchedule>, as<one_cycle_settings>(options), out);
}

htone_status htone_schedule_create_plateau(const htone_plateau_options* options, htone_schedule** out) {
  return Call(make_schedule<optim::PlateauSchedule>, as<plateau_settings>(options), out);
}

htone_status htone_schedule_report(htone_schedule* schedule, double metric) { return Call(report, schedule, metric); }
