import Foundation
import JSON

extension KubernetesOverlay {
    /// Findings against the profile "restricted", and against our own rules: a read-only root, no
    /// token of the cluster, limits of resources.
    ///
    /// Kubernetes, "Pod Security Standards", Restricted.
    func securityFindings() -> [String] {
        let profile = all("Namespace").first?.json["metadata"]?["labels"]?.texts["pod-security.kubernetes.io/enforce"]
        let namespace = profile == "restricted" ? [] : ["the namespace does not enforce restricted"]
        return namespace
            + workloads.flatMap { workload in
                Self.rules.filter { !$0.holds(workload) }.map { "\(workload.title): \($0.text)" }
            }
    }

    private struct Rule: Sendable {
        let text: String
        let holds: @Sendable (KubernetesObject) -> Bool

        init(_ text: String, _ holds: @escaping @Sendable (KubernetesObject) -> Bool) {
            self.text = text
            self.holds = holds
        }
    }

    private static let rules = [
        Rule("runs as root") { $0.podSpec?["securityContext"]?["runAsNonRoot"]?.bool == true },
        Rule("is not user 10001") { $0.podSpec?["securityContext"]?["runAsUser"]?.int64 == 10_001 },
        Rule("has no filter of system calls") {
            let profile = $0.podSpec?["securityContext"]?["seccompProfile"]
            return profile?["type"]?.string == "RuntimeDefault"
        }, Rule("may gain privileges") { $0.container?["securityContext"]?["allowPrivilegeEscalation"]?.bool == false },
        Rule("keeps capabilities") {
            $0.container?["securityContext"]?["capabilities"]?["drop"]?.strings == ["ALL"]
                && $0.container?["securityContext"]?["capabilities"]?["add"] == nil
        }, Rule("may write to its root") { $0.container?["securityContext"]?["readOnlyRootFilesystem"]?.bool == true },
        Rule("gets a token of the cluster") { $0.podSpec?["automountServiceAccountToken"]?.bool == false },
        Rule("shares namespaces of its node") { workload in
            ["hostNetwork", "hostPID", "hostIPC"].allSatisfy { workload.podSpec?[$0] == nil }
        },
        Rule("mounts other than settings and secrets") { workload in
            workload.podSpec.list("volumes").allSatisfy { volume in
                volume["configMap"] != nil || volume["secret"] != nil
            }
        },
        Rule("has more than one container") {
            $0.podSpec?["containers"]?.count == 1 && $0.podSpec?["initContainers"] == nil
        },
        Rule("does not say what it takes") {
            let resources = $0.container?["resources"]
            return resources?["requests"]?["cpu"] != nil && resources?["requests"]?["memory"] != nil
                && resources?["limits"]?["memory"] != nil
        },
    ]

    /// Findings against the rules for a worker's probes, spread and end.
    func workerFindings() -> [String] {
        all("StatefulSet").flatMap { worker in
            let budgets = all("PodDisruptionBudget").filter { worker.isSelected(by: $0.json["spec"]?["selector"]) }
            let service = worker.json["spec"]?["serviceName"]?.string
            return probeFindings(worker) + spreadFindings(worker)
                + (gracePeriod(worker) >= 28 ? [] : ["\(worker.title): is killed before its shutdown.budget and 8 s"])
                + (object("Service", service) != nil ? [] : ["\(worker.title): its Service is not there"])
                + (budgets.count == 1 ? [] : ["\(worker.title): has no PodDisruptionBudget"])
        }
    }

    private func gracePeriod(_ worker: KubernetesObject) -> Int64 {
        worker.podSpec?["terminationGracePeriodSeconds"]?.int64 ?? 0
    }

    private func probeFindings(_ worker: KubernetesObject) -> [String] {
        let wanted = ["startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"]
        return wanted.sorted { $0.key < $1.key }.flatMap { name, path in
            let get = worker.container?[name]?["httpGet"]
            let port = get?["port"]?.string.flatMap { worker.ports[$0] }
            return (get?["path"]?.string == path ? [] : ["\(worker.title): \(name) is not \(path)"])
                + (port == 9_400 ? [] : ["\(worker.title): \(name) asks another port"])
        }
    }

    private func spreadFindings(_ worker: KubernetesObject) -> [String] {
        let spread = worker.podSpec.list("topologySpreadConstraints")
        let keys = Set(spread.compactMap { $0["topologyKey"]?.string })
        let isOwn = spread.allSatisfy { worker.isSelected(by: $0["labelSelector"]) }
        let wanted: Set = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
        return isOwn && keys == wanted ? [] : ["\(worker.title): is not spread"]
    }
}
