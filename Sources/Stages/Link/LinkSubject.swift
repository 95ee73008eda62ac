import AppStore
import Entitlements

/// What one observation is about, as far as the question is whose it is.
enum LinkSubject {
    case purchase(PurchaseKey)
    /// A renewal info alone, which joins the purchases that the same trust vouched for.
    case renewal(RenewalKey)
    /// An app transaction: the Apple Account behind an app, without a purchase.
    case account(AppTransactionGroup)
    case nothing
}
