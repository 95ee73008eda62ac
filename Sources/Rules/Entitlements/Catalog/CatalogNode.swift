import JSON

/// A value of a catalog's file, or a missing member.
struct CatalogNode {
    /// The value.
    ///
    /// `nil` if it is missing.
    let value: JSONValue?
    /// The path of the value, such as `products["coins.100"].credits[0].amount`.
    let path: String
    /// The offset of the value's first byte; for a missing member, of the object that lacks it.
    let offset: Int

    private init(_ value: JSONValue?, _ path: String, otherwise offset: Int) {
        self.value = value
        self.path = path
        self.offset = value?.range.lowerBound ?? offset
    }

    init(root: JSONValue) { self.init(root, "", otherwise: 0) }

    /// A member of an object.
    subscript(_ member: String) -> CatalogNode {
        let path = path.isEmpty ? member : "\(path).\(member)"
        return CatalogNode(value?[member], path, otherwise: offset)
    }

    /// A member of an object.
    ///
    /// `nil` if the member is missing.
    func present(_ member: String) -> CatalogNode? {
        let node = self[member]
        return node.value == nil ? nil : node
    }

    /// The elements of an array; empty for anything else.
    var elements: [CatalogNode] {
        (value?.elements).map { elements in
            elements.enumerated().map { index, element in CatalogNode(element, "\(path)[\(index)]", otherwise: offset) }
        } ?? []
    }

    /// The members of an object by their keys, which are data; empty for anything else.
    var entries: [(key: CatalogNode, value: CatalogNode)] {
        (value?.members).map { members in
            members.map { key, value in
                let path = "\(path)[\"\(key.string ?? "")\"]"
                return (CatalogNode(key, path, otherwise: offset), CatalogNode(value, path, otherwise: offset))
            }
        } ?? []
    }

    /// Makes a problem of this value; its line and column are set once all problems are known.
    func problem(_ message: String) -> CatalogProblem { CatalogProblem(path: path, message: message, offset: offset) }
}
