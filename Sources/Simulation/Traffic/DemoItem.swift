package import AppStore

/// One record to publish on the raw topic.
package struct DemoItem: Sendable {
    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: [UInt8]?

        package init(name: String, value: [UInt8]?) {
            self.name = name
            self.value = value
        }
    }

    package let kind: DemoKind
    package let key: [UInt8]?
    package let value: [UInt8]?
    package let headers: [Header]
    /// Why the verifier has to refuse it; nil for what is genuine.
    package let expectedRefusal: RefusalReason?

    package init(
        kind: DemoKind,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [Header] = [],
        expectedRefusal: RefusalReason? = nil
    ) {
        self.kind = kind
        self.key = key
        self.value = value
        self.headers = headers
        self.expectedRefusal = expectedRefusal
    }
}
