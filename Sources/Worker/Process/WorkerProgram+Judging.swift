import AppStore
import OpenSSL
import Records
import Settings

extension WorkerProgram {
    /// The stage of these settings, with what they say about its dead letters and its breaker.
    func judging(_ parts: Parts) throws(SettingsError) -> Judging {
        Judging(
            stage: try make(parts),
            deadLetters: deadLetters(parts.settings),
            breaker: breaker.map { bounds in
                Breaker(
                    settings: decisiveHash(parts.settings).hex,
                    bounds: bounds(parts.settings)
                )
            }
        )
    }

    /// Of the settings that decide what is refused, the contents of the files they name included.
    private func decisiveHash(_ settings: SettingsValues) -> SHA256Digest {
        var text = settings.canonicalText(of: decisive)
        for path in files(settings) {
            text += SHA256.digest(FileBytes.read(path) ?? []).hex + "\n"
        }
        return SHA256.digest(Array(text.utf8))
    }

    /// The letters of this worker, once the cluster's ID is known.
    private func deadLetters(
        _ settings: SettingsValues
    ) -> @Sendable (_ cluster: String) -> any DeadLetterWriting {
        let decisive = settings.canonicalText(of: decisive)
        let configuration = SHA256.digest(Array(decisive.utf8))
        let topic = settings.topic(Topic.deadLetter)
        let worker = settings[WorkerSettings.instanceID] ?? HostName.current
        return { [stage] cluster in
            DeadLetterWriter(
                DeadLetterContext(
                    cluster: cluster,
                    topic: topic,
                    stage: stage.name,
                    readsObservations: stage.readsObservations,
                    worker: worker,
                    verifierVersion: Verifier.version,
                    configuration: configuration
                )
            )
        }
    }
}
