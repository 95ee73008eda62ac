/// A broken rule where it is found; `VerificationTrail` adds what is known of the body.
struct Fault: Error, Equatable {
    let reason: RefusalReason
    /// Our own words, without anything of the body.
    let detail: String

    init(_ reason: RefusalReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}
