package import AppStore

extension UnverifiedIdentifiers {
    /// What an observation is about; for the dead letters of the stages after the verifier.
    package init(_ observation: Observation) {
        self.init()
        for payload in [
            observation.transaction, observation.renewalInfo, observation.appTransaction,
        ] {
            if let payload {
                add(payload)
            }
        }
    }
}
