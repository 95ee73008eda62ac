#if POLICY_MUTATION
    import Glibc

    /// Which check of the policy a test-only build leaves out.
    ///
    /// Here because the policy itself reads no environment.
    package enum LeftOutCheck {
        package static let name: String? = unsafe getenv("POLICY_CHECK_LEFT_OUT").map {
            unsafe String(cString: $0)
        }
    }
#endif
