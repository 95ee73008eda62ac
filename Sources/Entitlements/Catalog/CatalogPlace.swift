import JSON

/// A value of a catalog's file, or the place that lacks one.
struct CatalogPlace {
    /// Nil where it is missing.
    let value: JSONValue?
    /// Such as `products["coins.100"].credits[0].amount`.
    let path: String
    /// The byte at which it begins; of a missing one, at which the object that lacks it does.
    let offset: Int

    private init(_ value: JSONValue?, _ path: String, otherwise offset: Int) {
        self.value = value
        self.path = path
        self.offset = value?.range.lowerBound ?? offset
    }

    init(root: JSONValue) {
        self.init(root, "", otherwise: 0)
    }

    /// A member of an object.
    subscript(_ member: String) -> CatalogPlace {
        let path = path.isEmpty ? member : "\(path).\(member)"
        return CatalogPlace(value?[member], path, otherwise: offset)
    }

    /// A member of an object; nil where it is missing.
    func present(_ member: String) -> CatalogPlace? {
        let place = self[member]
        return place.value == nil ? nil : place
    }

    /// The elements of an array; none for anything else.
    var elements: [CatalogPlace] {
        (value?.elements).map { elements in
            elements.enumerated().map { index, element in
                CatalogPlace(element, "\(path)[\(index)]", otherwise: offset)
            }
        } ?? []
    }

    /// The members of an object by their keys, which are data; none for anything else.
    var entries: [(key: CatalogPlace, value: CatalogPlace)] {
        (value?.members).map { members in
            members.map { key, value in
                let path = "\(path)[\"\(key.string ?? "")\"]"
                return (
                    CatalogPlace(key, path, otherwise: offset),
                    CatalogPlace(value, path, otherwise: offset)
                )
            }
        } ?? []
    }

    /// A problem here; its line and column are known once all problems are.
    func problem(_ message: String) -> CatalogProblem {
        CatalogProblem(path: path, message: message, offset: offset)
    }
}
