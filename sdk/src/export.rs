//! Makes a provider the export of a component.

/// Makes a type that implements [`Provider`](crate::Provider) and [`Default`] the export of this
/// component. Does nothing but on wasm, so that the crate tests natively.
///
/// ```
/// # use gatepass_sdk::{Description, Provider};
/// #[derive(Default)]
/// struct Acme;
/// impl Provider for Acme {
///     fn describe(&self) -> Description {
///         Description { name: "acme".into(), ..Description::default() }
///     }
/// }
///
/// gatepass_sdk::export!(Acme);
/// ```
///
/// The optional interfaces are named after it, in this order: `export!(Acme, git, trust)` for a
/// type that implements [`Git`](crate::Git) and [`Trust`](crate::Trust) as well.
#[macro_export]
macro_rules! export {
    ($provider:ty $(, $interface:ident)*) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Exported = $crate::Component<$provider>;
            $crate::generated::export_component!(Exported with_types_in $crate::generated);
            $($crate::export!(@ $interface Exported);)*
        };
    };
    (@ git $exported:ident) => {
        $crate::generated::git::export_git!($exported with_types_in $crate::generated::git);
    };
    (@ trust $exported:ident) => {
        $crate::generated::trust::export_trust!($exported with_types_in $crate::generated::trust);
    };
}
