/// The reason for which a test could not continue.
struct PipelineFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
