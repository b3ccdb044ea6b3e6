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
#[macro_export]
macro_rules! export {
    ($provider:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Exported = $crate::Component<$provider>;
    $crate::generated::export_component!(Exported with_types_in $crate::generated);
        };
    };
}
