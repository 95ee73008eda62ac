import Foundation
import TestSupport
import Testing

/// Checks of a page in JavaScript: each returns its findings in words.
enum Accessibility {
    /// Runs axe with all of its rules; returns each violation with its element.
    ///
    /// `deploy/install.sh test` installs axe. Throws if it is missing.
    static func axe() throws -> String {
        let lib = ReferenceScript.root.appending(path: ".build/python/lib")
        let versions = try FileManager.default.contentsOfDirectory(at: lib, includingPropertiesForKeys: nil)
        let file = "site-packages/axe_playwright_python/axe.min.js"
        let axe = try #require(versions.first { $0.lastPathComponent.hasPrefix("python3") })
        return try String(contentsOf: axe.appending(path: file), encoding: .utf8) + """
            ;
            return axe.run(document, { resultTypes: ["violations"] }).then((result) =>
              result.violations.flatMap((violation) => violation.nodes.map((node) =>
                `${violation.id}: ${node.target}: ${node.failureSummary}`)));
            """
    }

    /// Heads of tables and names of drawings, which axe does not ask for.
    static let structure = """
        const wrong = [];
        for (const table of document.querySelectorAll("table")) {
          if (!table.caption || !table.querySelector("th[scope=col]")) {
            wrong.push("table without head");
          }
        }
        for (const drawing of document.querySelectorAll("svg")) {
          if (!drawing.getAttribute("aria-label")) wrong.push("drawing without a name");
        }
        return wrong;
        """

    /// Whether the page scrolls sideways, and which elements are too wide.
    static let overflow = """
        const width = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth <= width) return [];
        return [...document.querySelectorAll("body *")]
          .filter((element) => element.getBoundingClientRect().right > width + 1
            && !element.closest(".scroll") && !element.matches(".skip"))
          .map((element) => `${element.tagName} ${element.className}`)
          .concat([`${document.documentElement.scrollWidth} of ${width}`]);
        """

    /// Elements that the keyboard reaches without a visible focus.
    static let focus = """
        const wrong = [];
        for (const element of document.querySelectorAll("a, button, input, select, summary")) {
          if (!element.checkVisibility() || element.type === "hidden") continue;
          element.focus({ focusVisible: true });
          const style = getComputedStyle(element);
          if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) {
            wrong.push(element.outerHTML.slice(0, 80));
          }
        }
        document.activeElement.blur();
        return wrong;
        """
}
