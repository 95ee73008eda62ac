/// Checks of a page in JavaScript, in the manner of axe: each returns its findings in words.
enum Accessibility {
    /// WCAG 2.2, 1.4.3: text against its background, 4.5 to 1, large text 3 to 1.
    static let contrast = """
        const parse = (text) => {
          const parts = text.match(/[\\d.]+/g).map(Number);
          return { r: parts[0], g: parts[1], b: parts[2], a: parts[3] ?? 1 };
        };
        const over = (top, below) => ({
          r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a),
          b: top.b * top.a + below.b * (1 - top.a), a: 1,
        });
        const linear = (value) => {
          const part = value / 255;
          return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        };
        const luminance = (c) => 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
        const behind = (element) => {
          const colours = [];
          for (let node = element; node; node = node.parentElement) {
            colours.push(parse(getComputedStyle(node).backgroundColor));
          }
          return colours.reverse().reduce((below, top) => over(top, below),
            { r: 255, g: 255, b: 255, a: 1 });
        };
        const wrong = [];
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          const text = walker.currentNode.textContent.trim();
          const element = walker.currentNode.parentElement;
          if (!text || !element.checkVisibility() || element.closest("title")) continue;
          const style = getComputedStyle(element);
          const isDrawn = element.closest("svg") !== null;
          const ground = behind(element.closest("svg")?.parentElement ?? element);
          const ink = over(parse(isDrawn ? style.fill : style.color), ground);
          const [high, low] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
          const ratio = (high + 0.05) / (low + 0.05);
          const size = parseFloat(style.fontSize);
          const isLarge = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
          if (ratio < (isLarge ? 3 : 4.5)) {
            wrong.push(`${ratio.toFixed(2)} for "${text.slice(0, 40)}" in ${element.className}`);
          }
        }
        return wrong;
        """

    /// Labels of fields, names of buttons and links, order of headings, landmarks, IDs, tables.
    static let structure = """
        const wrong = [];
        const name = (element) => (element.getAttribute("aria-label")
          ?? element.textContent).trim();
        const fields = "input:not([type=hidden]), select, textarea";
        for (const field of document.querySelectorAll(fields)) {
          const label = field.id ? document.querySelector(`label[for="${field.id}"]`) : null;
          if (!label?.textContent.trim() && !field.closest("label")) {
            wrong.push(`no label: ${field.outerHTML.slice(0, 80)}`);
          }
        }
        for (const element of document.querySelectorAll("a, button, summary, nav, [role=region]")) {
          if (!name(element)) wrong.push(`no name: ${element.outerHTML.slice(0, 80)}`);
        }
        let level = 0;
        for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
          const next = Number(heading.tagName[1]);
          if (next > level + 1) wrong.push(`heading jumps: ${heading.textContent}`);
          level = next;
        }
        if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
        if (document.querySelectorAll("main").length !== 1) wrong.push("not one main");
        if (!document.documentElement.lang) wrong.push("no language");
        if (!document.title.trim()) wrong.push("no title");
        const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
        for (const id of ids.filter((id, at) => ids.indexOf(id) !== at)) {
          wrong.push(`twice: ${id}`);
        }
        for (const id of document.querySelectorAll("[aria-describedby], [for]")) {
          const target = id.getAttribute("aria-describedby") ?? id.getAttribute("for");
          if (!document.getElementById(target)) wrong.push(`no target: ${target}`);
        }
        for (const table of document.querySelectorAll("table")) {
          if (!table.caption || !table.querySelector("th[scope=col]")) {
            wrong.push("table without head");
          }
        }
        for (const drawing of document.querySelectorAll("svg")) {
          if (!drawing.getAttribute("aria-label")) wrong.push("drawing without a name");
        }
        for (const element of document.querySelectorAll("[tabindex]")) {
          if (element.tabIndex > 0) wrong.push("an order of its own for the keyboard");
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
