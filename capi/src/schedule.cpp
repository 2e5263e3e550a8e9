#include "halftone/schedule.h"

#include "arguments.h"
#include "backend/formula/schedule.h"
#include "guard.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

void require_at_least(int64_t value, int64_t least, const char* argument) {
  if (value < least) {
    fail(Code::kInvalidArgument, argument, "%s=%lld, expected at least %lld", argument, static_cast<long long>(value),
         static_cast<long long>(least));
  }
}

void require_share(double value, const char* argument) {
  if (!(value >= 0.0 && value <= 1.0)) fail(Code::kInvalidArgument, argument, "%s=%g is outside [0, 1]", argument, value);
}

}  // namespace

htone_status htone_schedule_create_constant(htone_schedule** out) {
  return guard("htone_schedule_create_constant(out)", [&] { wrap(out, make_ref<ScheduleSettings>(Schedule{})); });
}

htone_status htone_schedule_create_cosine(int64_t total_steps, double final_factor, htone_schedule** out) {
  return guard("htone_schedule_create_cosine(total_steps, final_factor, out)", [&] {
    require_at_least(total_steps, 1, "total_steps");
    require_share(final_factor, "final_factor");
    Schedule schedule;
    schedule.kind = ScheduleKind::kCosine;
    schedule.total_steps = total_steps;
    schedule.final_factor = final_factor;
    wrap(out, make_ref<ScheduleSettings>(schedule));
  });
}

htone_status htone_schedule_create_step(int64_t step_size, double gamma, htone_schedule** out) {
  return guard("htone_schedule_create_step(step_size, gamma, out)", [&] {
    require_at_least(step_size, 1, "step_size");
    if (!(gamma > 0.0 && gamma <= 1.0)) fail(Code::kInvalidArgument, "gamma", "gamma=%g is outside (0, 1]", gamma);
    Schedule schedule;
    schedule.kind = ScheduleKind::kStep;
    schedule.total_steps = step_size;
    schedule.final_factor = gamma;
    wrap(out, make_ref<ScheduleSettings>(schedule));
  });
}

htone_status htone_schedule_create_warmup(int64_t warmup_steps, double start_factor, htone_schedule* after,
                                          htone_schedule** out) {
  return guard("htone_schedule_create_warmup(warmup_steps, start_factor, after, out)", [&] {
    require_at_least(warmup_steps, 1, "warmup_steps");
    require_share(start_factor, "start_factor");
    Schedule schedule = unwrap(after, "after")->schedule;
    if (schedule.warmup_steps > 0) fail(Code::kInvalidArgument, "after", "after begins with a warm-up of its own");
    schedule.warmup_steps = warmup_steps;
    schedule.start_factor = start_factor;
    wrap(out, make_ref<ScheduleSettings>(schedule));
  });
}

htone_status htone_schedule_factor(htone_schedule* schedule, int64_t position, double* out_factor) {
  return guard("htone_schedule_factor(schedule, position, out_factor)", [&] {
    const Schedule& rule = unwrap(schedule, "schedule")->schedule;
    require_at_least(position, 0, "position");
    require(out_factor, "out_factor") = schedule_factor(rule, position);
  });
}

htone_status htone_schedule_retain(htone_schedule* schedule) {
  return guard("htone_schedule_retain(schedule)", [&] { retain_handle(schedule, "schedule"); });
}

htone_status htone_schedule_release(htone_schedule* schedule) {
  return guard("htone_schedule_release(schedule)", [&] { release_handle(schedule, "schedule"); });
}
