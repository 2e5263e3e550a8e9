#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#if HALFTONE_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

// Saves the registers that a function keeps and the stack pointer in *save, then takes those at `load`.
extern "C" void halftone_switch_stack(void** save, void* load);
asm(R"(
.text
.globl halftone_switch_stack
.hidden halftone_switch_stack
.type halftone_switch_stack, @function
halftone_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size halftone_switch_stack, .-halftone_switch_stack
)");

namespace emulation {
namespace {

constexpr size_t kStackBytes = 256 << 10;  // touched pages alone take memory
constexpr int kSavedRegisters = 6;

thread_local Fiber* entering = nullptr;

}  // namespace

Fiber::Fiber() {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  stack_ = static_cast<char*>(memory);
}

Fiber::~Fiber() { munmap(stack_, kStackBytes); }

void Fiber::begin(Body body, void* user) {
  body_ = body;
  user_ = user;
  has_ended_ = false;
  // The stack as halftone_switch_stack expects it: saved registers, then the address to return to. A function begins
  // with a stack pointer 8 below a multiple of 16.
  auto* top = reinterpret_cast<uintptr_t*>(stack_ + kStackBytes - 24);
  *--top = reinterpret_cast<uintptr_t>(&Fiber::enter);
  for (int i = 0; i < kSavedRegisters; ++i) *--top = 0;
  own_ = top;
  entering = this;
  switch_in();
}

void Fiber::resume() { switch_in(); }

void Fiber::stop() { switch_out(false); }

void Fiber::enter() {
  Fiber* self = entering;
#if HALFTONE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &self->caller_stack_, &self->caller_size_);
#endif
  self->body_(self->user_);
  self->has_ended_ = true;
  self->switch_out(true);
  std::abort();
}

void Fiber::switch_in() {
#if HALFTONE_ADDRESS_SANITIZER
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack_, kStackBytes);
#endif
  halftone_switch_stack(&caller_, own_);
#if HALFTONE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::switch_out([[maybe_unused]] bool ends) {
#if HALFTONE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(ends ? nullptr : &fake_stack_, caller_stack_, caller_size_);
#endif
  halftone_switch_stack(&own_, caller_);
#if HALFTONE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack_, &caller_stack_, &caller_size_);
#endif
}

}  // namespace emulation
