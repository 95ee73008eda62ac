/// Who vouches for a payload, and for which of the configured apps.
struct Vouching {
    let anchor: Anchor
    let environment: Environment
    /// Nil for renewal info.
    let app: ConfiguredApp?
}
