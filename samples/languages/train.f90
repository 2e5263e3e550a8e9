! Exclusive-or in BF16 from Fortran 2003, through interfaces declared by hand with iso_c_binding.
module halftone
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int), parameter :: f32 = 2, bf16 = 4, i64 = 7, gelu_tanh = 1

  type, bind(c) :: error_info
    integer(c_int32_t) :: struct_size
    integer(c_int) :: status
    integer(c_int32_t) :: argument_index, native_code
    character(kind=c_char) :: message(512)
  end type error_info

  interface
    integer(c_int) function error_last(info) bind(c, name="htone_error_last")
      import; type(error_info), intent(inout) :: info
    end function
    integer(c_int) function handles_begin(out) bind(c, name="htone_handles_begin")
      import; type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function scope_end(scope) bind(c, name="htone_scope_end")
      import; type(c_ptr), value :: scope
    end function
    integer(c_int) function context_create(options, out) bind(c, name="htone_context_create")
      import; type(c_ptr), value :: options; type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function device_create(context, name, out) bind(c, name="htone_device_create")
      import; type(c_ptr), value :: context; character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function tensor_create_copy(device, dtype, ndim, shape, data, out) &
        bind(c, name="htone_tensor_create_copy")
      import; type(c_ptr), value :: device, data; integer(c_int), value :: dtype; integer(c_int32_t), value :: ndim
      integer(c_int64_t), intent(in) :: shape(*); type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function module_create_linear(device, inputs, outputs, options, out) &
        bind(c, name="htone_module_create_linear")
      import; type(c_ptr), value :: device, options; integer(c_int64_t), value :: inputs, outputs
      type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function module_create_gelu(form, out) bind(c, name="htone_module_create_gelu")
      import; integer(c_int), value :: form; type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function module_create_sequential(count, modules, out) &
        bind(c, name="htone_module_create_sequential")
      import; integer(c_size_t), value :: count; type(c_ptr), intent(in) :: modules(*)
      type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function autocast_policy_create(dtype, out) bind(c, name="htone_autocast_policy_create")
      import; integer(c_int), value :: dtype; type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function optimizer_create(module, options, out) bind(c, name="htone_optimizer_create")
      import; type(c_ptr), value :: module, options; type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function optimizer_set_group_lr(optimizer, index, lr) bind(c, name="htone_optimizer_set_group_lr")
      import; type(c_ptr), value :: optimizer; integer(c_size_t), value :: index; real(c_double), value :: lr
    end function
    integer(c_int) function optimizer_zero_grad(optimizer) bind(c, name="htone_optimizer_zero_grad")
      import; type(c_ptr), value :: optimizer
    end function
    integer(c_int) function optimizer_step(optimizer) bind(c, name="htone_optimizer_step")
      import; type(c_ptr), value :: optimizer
    end function
    integer(c_int) function module_forward(module, input, policy, out) bind(c, name="htone_module_forward")
      import; type(c_ptr), value :: module, input, policy; type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function cross_entropy(logits, target, options, out) bind(c, name="htone_cross_entropy")
      import; type(c_ptr), value :: logits, target, options; type(c_ptr), intent(out) :: out
    end function
    integer(c_int) function tensor_backward(tensor, gradient, retain_graph) bind(c, name="htone_tensor_backward")
      import; type(c_ptr), value :: tensor, gradient; integer(c_int32_t), value :: retain_graph
    end function
    integer(c_int) function tensor_item(tensor, value) bind(c, name="htone_tensor_item")
      import; type(c_ptr), value :: tensor; real(c_double), intent(out) :: value
    end function
  end interface

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    type(error_info) :: info
    integer :: ignored, length
    if (status == 0) return
    info%struct_size = int(c_sizeof(info), c_int32_t)
    ignored = error_last(info)
    length = findloc(info%message, c_null_char, dim=1) - 1
    print "(512a)", info%message(1:length)
    error stop
  end subroutine check
end module halftone

program train
  use halftone
  implicit none
  real(c_float), target :: points(8) = [0., 0., 0., 1., 1., 0., 1., 1.]
  integer(c_int64_t), target :: classes(4) = [0, 1, 1, 0]
  type(c_ptr) :: scope, step_scope, context, cpu, input, target, layers(3), model, policy, optimizer, logits, loss
  real(c_double) :: value
  integer :: step
  call check(handles_begin(scope)) ! releases everything that calls return from here on
  call check(context_create(c_null_ptr, context))
  call check(device_create(context, "cpu" // c_null_char, cpu))
  ! The first dimension of the shape varies slowest, so the array holds one point after another.
  call check(tensor_create_copy(cpu, f32, 2, [4_c_int64_t, 2_c_int64_t], c_loc(points), input))
  call check(tensor_create_copy(cpu, i64, 1, [4_c_int64_t], c_loc(classes), target))
  call check(module_create_linear(cpu, 2_c_int64_t, 16_c_int64_t, c_null_ptr, layers(1)))
  call check(module_create_gelu(gelu_tanh, layers(2)))
  call check(module_create_linear(cpu, 16_c_int64_t, 2_c_int64_t, c_null_ptr, layers(3)))
  call check(module_create_sequential(3_c_size_t, layers, model))
  call check(autocast_policy_create(bf16, policy))
  call check(optimizer_create(model, c_null_ptr, optimizer))
  call check(optimizer_set_group_lr(optimizer, 0_c_size_t, 0.02_c_double))
  do step = 1, 200
    call check(handles_begin(step_scope))
    call check(optimizer_zero_grad(optimizer))
    call check(module_forward(model, input, policy, logits))
    call check(cross_entropy(logits, target, c_null_ptr, loss))
    call check(tensor_backward(loss, c_null_ptr, 0))
    call check(optimizer_step(optimizer))
    call check(tensor_item(loss, value))
    if (mod(step, 100) == 0) print "(a, i0, a, f8.6)", "step ", step, "  loss ", value
    call check(scope_end(step_scope))
  end do
  call check(scope_end(scope))
end program train
