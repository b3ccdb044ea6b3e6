//! Keeps credentials out of core dumps.

/// Set it to any value to get core dumps again, for finding a fault in gatepass itself.
const ALLOW: &str = "GATEPASS_ALLOW_CORE_DUMPS";

/// Forbids core dumps of this process, and on Linux that other processes of the same user look into
/// its memory. A system that refuses is no reason to refuse a credential.
pub(crate) fn forbid_core_dumps() {
    if std::env::var_os(ALLOW).is_some() {
        return;
    }
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let _ = setrlimit(Resource::Core, none);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
