import Foundation
import JSON

/// A resource of an overlay.
struct KubernetesObject {
    let json: JSONValue
    let kind: String
    let name: String

    init(_ json: JSONValue) {
        self.json = json
        kind = json["kind"]?.string ?? "?"
        name = json["metadata"]?["name"]?.string ?? "?"
    }

    var title: String { "\(kind) \(name)" }

    /// The pod template of a StatefulSet, a Deployment, a Job or a CronJob.
    var template: JSONValue? { json["spec"]?["template"] ?? json["spec"]?["jobTemplate"]?["spec"]?["template"] }

    var podSpec: JSONValue? { template?["spec"] }

    var podLabels: [String: String] { template?["metadata"]?["labels"]?.texts ?? [:] }

    /// The first container of the pod; all pods here have one.
    var container: JSONValue? { podSpec?["containers"]?.elements.first { _ in true } }

    /// The container's ports by their names.
    var ports: [String: Int64] {
        let ports = container.list("ports")
        return ports.reduce(into: [:]) { named, port in
            named[port["name"]?.string ?? "?"] = port["containerPort"]?.int64
        }
    }

    /// Whether a selector chooses its pods: `matchLabels` and `matchExpressions`, or a Service's.
    func isSelected(by selector: JSONValue?) -> Bool {
        guard let selector else { return false }
        let isPlain = selector["matchLabels"] == nil && selector["matchExpressions"] == nil
        let labels = (isPlain ? selector : selector["matchLabels"])?.texts ?? [:]
        guard labels.allSatisfy({ podLabels[$0.key] == $0.value }) else { return false }
        let expressions = selector.list("matchExpressions")
        return expressions.allSatisfy { expression in
            let values = expression["values"]?.strings ?? []
            let value = podLabels[expression["key"]?.string ?? ""]
            let isListed = value.map(values.contains) ?? false
            return expression["operator"]?.string == "NotIn" ? !isListed : isListed
        }
    }
}

/// All resources of an overlay, and faults that no schema shows.
struct KubernetesOverlay {
    let schemaFindings: [String]
    let objects: [KubernetesObject]

    /// - Parameter folder: that of the overlay.
    init(_ folder: URL) throws {
        let manifests = try Manifests("kubernetes", folder.path)
        schemaFindings = manifests.findings
        objects = manifests.objects.map(KubernetesObject.init)
    }

    func all(_ kind: String) -> [KubernetesObject] { objects.filter { $0.kind == kind } }

    /// All resources that start pods.
    var workloads: [KubernetesObject] { objects.filter { $0.template != nil } }

    func object(_ kind: String, _ name: String?) -> KubernetesObject? {
        objects.first { $0.kind == kind && $0.name == name }
    }
}
