import JSON

extension ObservationClaims {
    /// What an app's post says beside the signed transaction; anything but text is no claim here,
    /// and contradicts where the transaction has a counterpart.
    init(unsigned root: JSONValue) {
        self.init(
            transactionID: root["transactionID"]?.string,
            originalTransactionID: root["originalTransactionID"]?.string,
            productID: root["productID"]?.string,
            offerID: root["offerID"]?.string
        )
    }
}
