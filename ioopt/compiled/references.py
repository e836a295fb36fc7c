"""Pass named tuples of arrays by address, and compile functions only once.

numba passes every value of a tuple separately: seven values for each array, hundreds
for a call. That takes longer to compile and to run than most kernels. numba also
optimises and assembles every function with all functions that it calls, and then again
within its caller. This module imports numba, so it is imported only for machine code.
"""

from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from inspect import signature
from typing import Any

from llvmlite import ir
from numba import _dynfunc, types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typed_passes import NativeLowering
from numba.core.types import Type
from numba.core.types.containers import BaseNamedTuple
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import lower_builtin, models, register_model, type_callable

from ioopt.compiled import by_reference


class Reference(Type):
    """The numba type of the address of a named tuple of the type *target*.

    The fields of a reference can be read like those of the tuple.
    """

    def __init__(self, target: BaseNamedTuple) -> None:
        self.target = target
        # Type names are part of function names, and the name of a wide tuple has
        # thousands of letters.
        super().__init__(f"Reference({sha256(str(target).encode()).hexdigest()})")


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):
    """Representation of a reference in machine code: an untyped address."""

    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


def handed_on(kind: Type) -> Type:
    """Return the type in which a value of type *kind* is passed to a function.

    A named tuple is passed by reference, and any other value as it is.
    """
    return Reference(kind) if isinstance(kind, BaseNamedTuple) else kind


@infer_getattr
class ReferenceFields(AttributeTemplate):
    """Tell numba the types of the fields of a reference."""

    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Type | None:
        """Return the type of the field *name*; None if there is no such field."""
        fields = kind.target.fields
        return handed_on(kind.target[fields.index(name)]) if name in fields else None


@lower_getattr_generic(Reference)
def _load_field(
    context: Any, builder: Any, kind: Reference, address: Any, name: str
) -> Any:
    """Generate machine code that reads the field *name* of a reference.

    For a field that is a named tuple, the code gives its address.
    """
    place = kind.target.fields.index(name)
    struct = context.get_value_type(kind.target).as_pointer()
    field = cgutils.gep_inbounds(builder, builder.bitcast(address, struct), 0, place)
    if isinstance(kind.target[place], BaseNamedTuple):
        return builder.bitcast(field, address.type)
    return impl_ret_borrowed(context, builder, kind.target[place], builder.load(field))


@type_callable(by_reference)
def _type_of_reference(_context: Any) -> Callable[[Type], Type]:
    return lambda value: handed_on(value)


@lower_builtin(by_reference, types.Any)
def _take_address(_context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    """Generate the machine code of :func:`ioopt.compiled.by_reference`."""
    if called.return_type == called.args[0]:
        return arguments[0]
    slot = cgutils.alloca_once_value(builder, arguments[0])
    return builder.bitcast(slot, cgutils.voidptr_t)


def entry(text: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the name, file and arguments of *text* that calls *text*.

    It passes named tuples to *text* by reference.
    """
    names = ", ".join(signature(text).parameters)
    handed = ", ".join(f"by_reference({name})" for name in signature(text).parameters)
    scope: dict[str, Any] = {
        "text": text,
        "by_reference": by_reference,
        "__name__": text.__module__,
    }
    source = f"def {text.__name__}({names}):\n    return text({handed})"
    exec(compile(source, text.__code__.co_filename, "exec"), scope)
    made: Callable[..., Any] = scope[text.__name__]
    return made


class PartLibrary(JITCodeLibrary):
    """Machine code that is only linked into its callers.

    numba would otherwise also optimise and assemble it separately.
    """

    def _optimize_final_module(self) -> None:
        """Do nothing, because the library of the caller optimises this code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Generate the code of a function like numba, but into a :class:`PartLibrary`."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Generate the code, without the Python wrapper of the function.

        The wrapper would never be called. Return True, as the function changes.
        """
        state.library = PartLibrary(
            state.targetctx.codegen(), state.func_id.func_qualname
        )
        state.flags.no_compile = True
        super().run_pass(state)
        made, name = state.cr, state.func_id.func_name
        stub = _dynfunc.make_function(
            import_module(__name__), name, "", 0, made.env, ()
        )
        state.cr = made._replace(cfunc=stub)
        state.targetctx.insert_user_function(stub, made.fndesc, [state.library])
        state.reload_init.extend(
            getattr(state.library, "_reload_init", ())
        )  # numba 0.61 on
        return True


class PartCompiler(CompilerBase):
    """Compiler of functions whose code is needed only within their callers."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's pipeline with :class:`PartLowering`."""
        made = DefaultPassBuilder.define_nopython_pipeline(self.state)
        places = [kind for kind, _ in made.passes]
        made.passes[places.index(NativeLowering)] = (PartLowering, "part lowering")
        made.finalize()
        return [made]
