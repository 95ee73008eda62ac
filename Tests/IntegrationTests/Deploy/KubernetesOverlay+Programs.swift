import Foundation
import JSON

extension KubernetesOverlay {
    /// The secrets that an overlay leaves to the company's own store.
    private static let ownSecrets = [
        "database-url": "postgresql://someone:secret@postgres/entitlements?sslmode=verify-full",
        "kafka-password": "secret", "users": DeployedProgram.viewer, "api-key.p8": DeployedProgram.apiKey,
    ]

    /// The program of each workload with its mounted files.
    func programs() -> [DeployedProgram] {
        workloads.map { workload in
            DeployedProgram(
                name: workload.title, command: workload.container?["command"]?.strings ?? [],
                environment: environment(of: workload), files: files(of: workload))
        }
    }

    /// References to objects that do not exist.
    func referenceFindings() -> [String] {
        workloads.flatMap { workload in
            let volumes = workload.podSpec.list("volumes")
            let mounts = workload.container.list("volumeMounts")
            let names = Set(volumes.compactMap { $0["name"]?.string })
            let unknown = mounts.compactMap { $0["name"]?.string }.filter { !names.contains($0) }
            return unknown.map { "\(workload.title): there is no volume \($0)" }
                + volumes.compactMap { missing($0) }.map { "\(workload.title): \($0)" }
        }
    }

    private func missing(_ volume: JSONValue) -> String? {
        if let map = volume["configMap"]?["name"]?.string {
            return object("ConfigMap", map) == nil ? "there is no ConfigMap \(map)" : nil
        }
        guard let secret = volume["secret"]?["secretName"]?.string else { return nil }
        let isOptional = volume["secret"]?["optional"]?.bool == true
        let isOurs = !all("Secret").isEmpty
        let isThere = !isOurs || isOptional || object("Secret", secret) != nil
        return isThere ? nil : "there is no Secret \(secret)"
    }

    private func environment(of workload: KubernetesObject) -> [String: String] {
        let variables = workload.container.list("env")
        return variables.reduce(into: [:]) { environment, variable in
            let field = variable["valueFrom"]?["fieldRef"]?["fieldPath"]?.string
            environment[variable["name"]?.string ?? "?"] = variable["value"]?.string ?? value(of: field, workload)
        }
    }

    /// The value of a pod's own field.
    private func value(of field: String?, _ workload: KubernetesObject) -> String? {
        guard field != "metadata.name" else { return "\(workload.name)-0" }
        return field?.wholeMatch(of: /metadata\.labels\['([^']+)'\]/).flatMap { workload.podLabels[String($0.1)] }
    }

    private func files(of workload: KubernetesObject) -> [String: String] {
        let volumes = workload.podSpec.list("volumes")
        let mounts = workload.container.list("volumeMounts")
        return mounts.reduce(into: [:]) { files, mount in
            let volume = volumes.first { $0["name"]?.string == mount["name"]?.string }
            guard let volume, let path = mount["mountPath"]?.string else { return }
            for (name, text) in content(of: volume) { files["\(path)/\(name)"] = text }
        }
    }

    private func content(of volume: JSONValue) -> [String: String] {
        if let map = object("ConfigMap", volume["configMap"]?["name"]?.string) { return map.json["data"]?.texts ?? [:] }
        guard let name = volume["secret"]?["secretName"]?.string else { return [:] }
        guard !all("Secret").isEmpty else { return Self.ownSecrets }
        return (object("Secret", name)?.json["data"]?.texts ?? [:]).mapValues { text in
            // YAML breaks a long one into lines.
            let bytes = Data(base64Encoded: text, options: .ignoreUnknownCharacters)
            return String(decoding: bytes ?? Data(), as: UTF8.self)
        }
    }
}
