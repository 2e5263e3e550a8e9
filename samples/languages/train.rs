// Exclusive-or in BF16 from Rust, with the few functions that it needs declared by hand. bindgen declares all of them
// from halftone/halftone.h. Options stay NULL: a structure that is declared by hand must not be shorter than the one
// that its `_init` function fills.
use std::ffi::{c_char, c_double, c_int, c_void, CStr};
use std::ptr::null;

type Handle = *mut c_void; // every htone_... object

const BF16: c_int = 4; // HTONE_BF16, dtype.h
const F32: c_int = 2;
const I64: c_int = 7;
const GELU_TANH: c_int = 1;

#[repr(C)]
struct ErrorInfo {
    struct_size: u32,
    status: c_int,
    argument_index: i32,
    native_code: i32,
    message: [c_char; 512],
}

extern "C" {
    fn htone_error_last(out_info: *mut ErrorInfo) -> c_int;
    fn htone_handles_begin(out: *mut Handle) -> c_int;
    fn htone_scope_end(scope: Handle) -> c_int;
    fn htone_context_create(options: *const c_void, out: *mut Handle) -> c_int;
    fn htone_device_create(context: Handle, name: *const c_char, out: *mut Handle) -> c_int;
    fn htone_tensor_create_copy(
        device: Handle,
        dtype: c_int,
        ndim: i32,
        shape: *const i64,
        data: *const c_void,
        out: *mut Handle,
    ) -> c_int;
    fn htone_module_create_linear(
        device: Handle,
        in_features: i64,
        out_features: i64,
        options: *const c_void,
        out: *mut Handle,
    ) -> c_int;
    fn htone_module_create_gelu(form: c_int, out: *mut Handle) -> c_int;
    fn htone_module_create_sequential(count: usize, modules: *const Handle, out: *mut Handle) -> c_int;
    fn htone_autocast_policy_create(dtype: c_int, out: *mut Handle) -> c_int;
    fn htone_optimizer_create(module: Handle, options: *const c_void, out: *mut Handle) -> c_int;
    fn htone_optimizer_set_group_lr(optimizer: Handle, index: usize, lr: c_double) -> c_int;
    fn htone_optimizer_zero_grad(optimizer: Handle) -> c_int;
    fn htone_optimizer_step(optimizer: Handle) -> c_int;
    fn htone_module_forward(module: Handle, input: Handle, policy: Handle, out: *mut Handle) -> c_int;
    fn htone_cross_entropy(logits: Handle, target: Handle, options: *const c_void, out: *mut Handle) -> c_int;
    fn htone_tensor_backward(tensor: Handle, gradient: Handle, retain_graph: i32) -> c_int;
    fn htone_tensor_item(tensor: Handle, out_value: *mut c_double) -> c_int;
}

/// The library's message as an error. It belongs to the thread of the failed call, so it is read at once.
fn check(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    let mut info = ErrorInfo { struct_size: 0, status: 0, argument_index: -1, native_code: 0, message: [0; 512] };
    info.struct_size = std::mem::size_of::<ErrorInfo>() as u32;
    unsafe {
        htone_error_last(&mut info);
        Err(CStr::from_ptr(info.message.as_ptr()).to_string_lossy().into_owned())
    }
}

/// Calls a function whose last parameter is the result.
fn make(call: impl FnOnce(*mut Handle) -> c_int) -> Result<Handle, String> {
    let mut out: Handle = std::ptr::null_mut();
    check(call(&mut out)).map(|_| out)
}

/// Releases every handle that calls of this thread returned since it was made. Not Send: a scope ends on its thread.
struct Scope(Handle);

impl Scope {
    fn begin() -> Result<Scope, String> {
        make(|out| unsafe { htone_handles_begin(out) }).map(Scope)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        unsafe { htone_scope_end(self.0) };
    }
}

fn train() -> Result<(), String> {
    let _program = Scope::begin()?;
    let points: [f32; 8] = [0., 0., 0., 1., 1., 0., 1., 1.];
    let classes: [i64; 4] = [0, 1, 1, 0];
    unsafe {
        let context = make(|out| htone_context_create(null(), out))?;
        let cpu = make(|out| htone_device_create(context, b"cpu\0".as_ptr().cast(), out))?;
        let tensor = |dtype, shape: &[i64], data| {
            make(|out| htone_tensor_create_copy(cpu, dtype, shape.len() as i32, shape.as_ptr(), data, out))
        };
        let input = tensor(F32, &[4, 2], points.as_ptr().cast())?;
        let target = tensor(I64, &[4], classes.as_ptr().cast())?;
        let layers = [
            make(|out| htone_module_create_linear(cpu, 2, 16, null(), out))?,
            make(|out| htone_module_create_gelu(GELU_TANH, out))?,
            make(|out| htone_module_create_linear(cpu, 16, 2, null(), out))?,
        ];
        let model = make(|out| htone_module_create_sequential(layers.len(), layers.as_ptr(), out))?;
        let bf16 = make(|out| htone_autocast_policy_create(BF16, out))?;
        let optimizer = make(|out| htone_optimizer_create(model, null(), out))?;
        check(htone_optimizer_set_group_lr(optimizer, 0, 0.02))?;
        for step in 1..=200 {
            let _step = Scope::begin()?;
            check(htone_optimizer_zero_grad(optimizer))?;
            let logits = make(|out| htone_module_forward(model, input, bf16, out))?;
            let loss = make(|out| htone_cross_entropy(logits, target, null(), out))?;
            check(htone_tensor_backward(loss, std::ptr::null_mut(), 0))?;
            check(htone_optimizer_step(optimizer))?;
            let mut value = 0.0;
            check(htone_tensor_item(loss, &mut value))?;
            if step % 100 == 0 {
                println!("step {step}  loss {value:.6}");
            }
        }
    }
    Ok(())
}

fn main() {
    if let Err(message) = train() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}
