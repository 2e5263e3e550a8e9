-- Exclusive-or in BF16 from LuaJIT. The C preprocessor gives the whole interface to its FFI: no declaration by hand.
--   luajit train.lua INCLUDE-FOLDER LIBRARY
local ffi = require("ffi")
local include, library = arg[1], arg[2]
local pipe = assert(io.popen("cc -E -P -DSWIG -I'" .. include .. "' '" .. include .. "/halftone/halftone.h'"))
ffi.cdef(pipe:read("*a"))
pipe:close()
local halftone = ffi.load(library)

local function check(status)
  if status == halftone.HTONE_OK then return end
  local info = ffi.new("htone_error_info")
  halftone.htone_error_info_init(info)
  halftone.htone_error_last(info)
  error(ffi.string(info.message), 2)
end

-- Calls a function whose last parameter is the result, an object of this type.
local function make(type, call, ...)
  local out = ffi.new(type .. "*[1]")
  local arguments = {...}
  arguments[select("#", ...) + 1] = out
  check(call(unpack(arguments, 1, select("#", ...) + 1)))
  return out[0]
end

local program = make("htone_scope", halftone.htone_handles_begin) -- releases everything that calls return from here on
local context = make("htone_context", halftone.htone_context_create, nil)
local cpu = make("htone_device", halftone.htone_device_create, context, "cpu")
local points = ffi.new("float[8]", {0, 0, 0, 1, 1, 0, 1, 1})
local classes = ffi.new("int64_t[4]", {0, 1, 1, 0})
local shape = ffi.new("int64_t[2]", {4, 2})
local input = make("htone_tensor", halftone.htone_tensor_create_copy, cpu, "HTONE_F32", 2, shape, points)
local target = make("htone_tensor", halftone.htone_tensor_create_copy, cpu, "HTONE_I64", 1, shape, classes)
local layers = ffi.new("htone_module*[3]")
layers[0] = make("htone_module", halftone.htone_module_create_linear, cpu, 2, 16, nil)
layers[1] = make("htone_module", halftone.htone_module_create_gelu, "HTONE_GELU_TANH")
layers[2] = make("htone_module", halftone.htone_module_create_linear, cpu, 16, 2, nil)
local model = make("htone_module", halftone.htone_module_create_sequential, 3, layers)
local bf16 = make("htone_autocast_policy", halftone.htone_autocast_policy_create, "HTONE_BF16")
local options = ffi.new("htone_optimizer_options")
check(halftone.htone_optimizer_options_init("HTONE_OPTIMIZER_ADAMW", options))
options.lr, options.compute_dtype = 0.02, "HTONE_BF16"
local optimizer = make("htone_optimizer", halftone.htone_optimizer_create, model, options)
for step = 1, 200 do
  local temporaries = make("htone_scope", halftone.htone_handles_begin)
  check(halftone.htone_optimizer_zero_grad(optimizer))
  local logits = make("htone_tensor", halftone.htone_module_forward, model, input, bf16)
  local loss = make("htone_tensor", halftone.htone_cross_entropy, logits, target, nil)
  check(halftone.htone_tensor_backward(loss, nil, 0))
  check(halftone.htone_optimizer_step(optimizer))
  local value = ffi.new("double[1]")
  check(halftone.htone_tensor_item(loss, value))
  if step % 100 == 0 then print(("step %d  loss %.6f"):format(step, value[0])) end
  check(halftone.htone_scope_end(temporaries))
end
check(halftone.htone_scope_end(program))
