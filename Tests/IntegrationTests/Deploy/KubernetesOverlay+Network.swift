import Foundation
import JSON
import Records
import Settings
import Topology
import Worker

extension KubernetesOverlay {
    /// Names in Services, budgets and network policies that do not exist.
    func networkFindings() throws -> [String] {
        all("Service").flatMap(serviceFindings)
            + all("PodDisruptionBudget").filter { budget in
                workloads.count { $0.isSelected(by: budget.json["spec"]?["selector"]) } != 1
            }.map { "\($0.title): does not select one workload" } + all("NetworkPolicy").flatMap(policyFindings)
            + (try openingFindings())
    }

    private func serviceFindings(_ service: KubernetesObject) -> [String] {
        let selected = workloads.filter { $0.isSelected(by: service.json["spec"]?["selector"]) }
        guard selected.count == 1 else { return ["\(service.title): selects no workload"] }
        let ports = service.json["spec"].list("ports")
        return ports.compactMap { $0["targetPort"]?.string }.filter { selected[0].ports[$0] == nil }.map {
            "\(service.title): \(selected[0].title) has no port \($0)"
        }
    }

    private func policyFindings(_ policy: KubernetesObject) -> [String] {
        let selected = workloads.filter { $0.isSelected(by: policy.json["spec"]?["podSelector"]) }
        guard !selected.isEmpty else { return ["\(policy.title): selects no pod"] }
        let rules = policy.json["spec"].list("ingress")
        let names = rules.flatMap { $0.list("ports") }.compactMap { $0["port"]?.string }
        return selected.flatMap { workload in
            names.filter { workload.ports[$0] == nil }.map { "\(policy.title): \(workload.title) has no port \($0)" }
        }
    }

    /// Everything is closed but the ports that the settings name.
    private func openingFindings() throws -> [String] {
        let isClosed = all("NetworkPolicy").contains { policy in
            policy.json["spec"]?["podSelector"]?.count == 0
                && policy.json["spec"]?["policyTypes"]?.strings == ["Ingress", "Egress"]
                && policy.json["spec"]?["egress"] == nil
        }
        let specs = all("NetworkPolicy").compactMap { $0.json["spec"] }
        let rules = specs.flatMap { $0.list("egress") }
        let open = rules.flatMap { $0.list("ports") }.compactMap { $0["port"]?.int64 }
        let kafka = try settings()[KafkaSettings.bootstrap].map(\.port).map(Int64.init)
        let needed = kafka + [5_432, 53]
        return (isClosed ? [] : ["what is not listed is open"])
            + needed.filter { !open.contains($0) }.map { "the port \($0) is closed" }
    }

    /// The ConfigMap's settings of Kafka.
    func settings() throws -> SettingsValues {
        let text = all("ConfigMap").compactMap { $0.json["data"]?["settings.json"]?.string }.first
        let file = try SettingsFile(path: "settings.json", bytes: Array((text ?? "").utf8))
        let declarations = [
            KafkaSettings.bootstrap.declaration, KafkaSettings.topicPrefix.declaration,
            KafkaSettings.groupPrefix.declaration, WorkerSettings.sessionTimeout.declaration,
        ]
        return try SettingsSchema(declarations, ignoresUnknown: true).read(environment: [:], file: file)
    }
}

extension KubernetesOverlay {
    /// Groups and topics of the autoscaling that no worker joins or that do not exist.
    func scalingFindings() throws -> [String] {
        let settings = try settings()
        let scaled = all("ScaledObject")
        let unscaled = Topology.stages.filter { stage in !scaled.contains { $0.name == stage.program } }
        return unscaled.map { "\($0.program) is not scaled" } + scaled.flatMap { scaledFindings($0, settings) }
    }

    private func scaledFindings(_ scaled: KubernetesObject, _ settings: SettingsValues) -> [String] {
        guard let stage = Topology.stages.first(where: { $0.program == scaled.name }) else {
            return ["\(scaled.title): is no worker"]
        }
        let spec = scaled.json["spec"]
        let trigger = spec?["triggers"]?.elements.first { _ in true }
        let metadata = trigger?["metadata"]?.texts ?? [:]
        let target = spec?["scaleTargetRef"]
        let bootstrap = settings[KafkaSettings.bootstrap].commaSeparated
        let isTarget = object(target?["kind"]?.string ?? "?", target?["name"]?.string) != nil
        let authentication = trigger?["authenticationRef"]?["name"]?.string
        let expected = [
            "consumerGroup": settings.group(stage), "topic": settings.topic(stage.inputTopic),
            "bootstrapServers": bootstrap,
        ]
        let wrong = expected.filter { metadata[$0.key] != $0.value }
        return wrong.map { "\(scaled.title): \($0.key) is not \($0.value)" }
            + (isTarget ? [] : ["\(scaled.title): its target is not there"])
            + (authentication.map { object("TriggerAuthentication", $0) != nil } ?? true
                ? [] : ["\(scaled.title): its authentication is not there"])
            + (spec?["maxReplicaCount"]?.int64 == partitions
                ? [] : ["\(scaled.title): its ceiling is not the number of partitions"])
            + steadinessFindings(scaled, settings)
    }

    /// Each change of the number moves partitions, so it must not go up and down.
    private func steadinessFindings(_ scaled: KubernetesObject, _ settings: SettingsValues) -> [String] {
        let advanced = scaled.json["spec"]?["advanced"]?["horizontalPodAutoscalerConfig"]
        let down = advanced?["behavior"]?["scaleDown"]
        let window = down?["stabilizationWindowSeconds"]?.int64 ?? 0
        let session = Int64(settings[WorkerSettings.sessionTimeout] / .seconds(1))
        let least = scaled.json["spec"]?["minReplicaCount"]?.int64 ?? 0
        return (window >= 10 * session ? [] : ["\(scaled.title): goes down too soon"])
            + (least >= 2 ? [] : ["\(scaled.title): one copy is no redundancy"])
    }

    /// The number of partitions that the Job creates.
    private var partitions: Int64? {
        let command = object("Job", "topics")?.container?["command"]?.strings ?? []
        return command.compactMap { $0.wholeMatch(of: /--partitions=(\d+)/)?.1 }.first.flatMap { Int64($0) }
    }
}
