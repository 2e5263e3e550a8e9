// Exclusive-or in BF16 from Go. Scopes and the last error belong to a thread, and a goroutine may move to another
// thread between two calls: LockOSThread keeps it on one.
package main

/*
#cgo pkg-config: halftone
#include <halftone/halftone.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

func check(status C.htone_status) {
	if status == C.HTONE_OK {
		return
	}
	var info C.htone_error_info
	C.htone_error_info_init(&info)
	C.htone_error_last(&info)
	fmt.Fprintln(os.Stderr, C.GoString(&info.message[0]))
	os.Exit(1)
}

func main() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	points := [8]C.float{0, 0, 0, 1, 1, 0, 1, 1}
	classes := [4]C.int64_t{0, 1, 1, 0}
	shape := [2]C.int64_t{4, 2}
	var program *C.htone_scope
	check(C.htone_handles_begin(&program)) // releases everything that calls return from here on
	defer C.htone_scope_end(program)

	var context *C.htone_context
	var cpu *C.htone_device
	check(C.htone_context_create(nil, &context))
	name := C.CString("cpu")
	defer C.free(unsafe.Pointer(name))
	check(C.htone_device_create(context, name, &cpu))
	var input, target *C.htone_tensor
	check(C.htone_tensor_create_copy(cpu, C.HTONE_F32, 2, &shape[0], unsafe.Pointer(&points[0]), &input))
	check(C.htone_tensor_create_copy(cpu, C.HTONE_I64, 1, &shape[0], unsafe.Pointer(&classes[0]), &target))

	var layers [3]*C.htone_module
	var model *C.htone_module
	check(C.htone_module_create_linear(cpu, 2, 16, nil, &layers[0]))
	check(C.htone_module_create_gelu(C.HTONE_GELU_TANH, &layers[1]))
	check(C.htone_module_create_linear(cpu, 16, 2, nil, &layers[2]))
	check(C.htone_module_create_sequential(3, &layers[0], &model))
	var bf16 *C.htone_autocast_policy
	check(C.htone_autocast_policy_create(C.HTONE_BF16, &bf16))
	var options C.htone_optimizer_options
	check(C.htone_optimizer_options_init(C.HTONE_OPTIMIZER_ADAMW, &options))
	options.lr = 0.02
	options.compute_dtype = C.HTONE_BF16
	var optimizer *C.htone_optimizer
	check(C.htone_optimizer_create(model, &options, &optimizer))

	for step := 1; step <= 200; step++ {
		var temporaries *C.htone_scope
		check(C.htone_handles_begin(&temporaries))
		var logits, loss *C.htone_tensor
		var value C.double
		check(C.htone_optimizer_zero_grad(optimizer))
		check(C.htone_module_forward(model, input, bf16, &logits))
		check(C.htone_cross_entropy(logits, target, nil, &loss))
		check(C.htone_tensor_backward(loss, nil, 0))
		check(C.htone_optimizer_step(optimizer))
		check(C.htone_tensor_item(loss, &value))
		if step%100 == 0 {
			fmt.Printf("step %d  loss %.6f\n", step, float64(value))
		}
		runtime.Gosched() // other goroutines run; this one stays on its thread
		check(C.htone_scope_end(temporaries))
	}
}
