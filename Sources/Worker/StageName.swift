/// The four steps from a raw body to rows, in their order.
package enum StageName: String, Sendable, CaseIterable {
    case verify, dedupe, link, entitle

    /// The executable that runs the stage.
    package var program: String { "\(rawValue)-worker" }
}
