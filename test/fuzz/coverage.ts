import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { type Node, parse } from "acorn";

/** Room for the places of all sources that are ever loaded. */
const MOST_PLACES = 262_144;

/**
 * Counts which places of the sources were reached. Modules that are loaded after {@link start} count each branch they take: one
 * addition to an array, so that the program stays about as fast as it is, which V8's own coverage is far from.
 */
export class Coverage {
  /** How often each place was reached since the last {@link isNew}. */
  readonly #counts = new Uint8Array(MOST_PLACES);
  readonly #words = new Uint32Array(this.#counts.buffer);
  /** For each place how often it was reached at most in one input, as a power of two. */
  readonly #seen = new Uint8Array(MOST_PLACES);
  #places = 0;
  #reached = 0;
  #hooks: { deregister(): void } | undefined;

  /** @param sources the folder whose modules are counted */
  start(sources: string): void {
    Object.assign(globalThis, { [COUNTS]: this.#counts });
    this.#hooks = registerHooks({
      load: (url, context, next) => {
        const isOurs =
          url.startsWith("file:") && fileURLToPath(url).startsWith(sources) && url.endsWith(".ts");
        if (!isOurs) return next(url, context);
        const script = stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8"), { mode: "strip" });
        return { format: "module", shortCircuit: true, source: this.#instrument(script) };
      },
    });
  }

  stop(): void {
    this.#hooks?.deregister();
  }

  /** Places reached, of all that there are in what was loaded. */
  get summary(): { readonly reached: number; readonly places: number } {
    return { reached: this.#reached, places: this.#places };
  }

  /** Whether a place was reached since the last time that never was before, or twice as often in one input. */
  isNew(): boolean {
    let isNew = false;
    const words = Math.ceil(this.#places / 4);
    for (let word = 0; word < words; word += 1) {
      if (this.#words[word] === 0) continue;
      for (let place = word * 4; place < word * 4 + 4; place += 1) {
        const count = this.#counts[place] ?? 0;
        if (count === 0) continue;
        const power = 32 - Math.clz32(count);
        const before = this.#seen[place] ?? 0;
        if (power <= before) continue;
        if (before === 0) this.#reached += 1;
        this.#seen[place] = power;
        isNew = true;
      }
    }
    this.forget();
    return isNew;
  }

  /** Leaves what was reached out of account. */
  forget(): void {
    this.#counts.fill(0, 0, this.#places);
  }

  /** The script with a count at the beginning of each function, block, branch and case; each line keeps its number. */
  #instrument(script: string): string {
    const insertions: Insertion[] = [];
    const count = () => {
      this.#places += 1;
      if (this.#places > MOST_PLACES) throw new Error("more places than there is room for");
      return `${COUNTS}[${this.#places - 1}]++`;
    };
    const statements = (at: number) => insertions.push({ at, text: `${count()};` });
    const expression = (node: Node) =>
      insertions.push({ at: node.start, text: `(${count()},` }, { at: node.end, text: ")" });
    const statement = (node: Node) => {
      if (node.type === "BlockStatement") return;
      insertions.push({ at: node.start, text: `{${count()};` }, { at: node.end, text: "}" });
    };
    walk(parse(script, { ecmaVersion: "latest", sourceType: "module" }), (node) => {
      const parts = node as unknown as Record<string, Node>;
      const { body, consequent, alternate, right } = parts;
      if (node.type === "BlockStatement" || node.type === "StaticBlock") {
        statements(node.type === "BlockStatement" ? node.start + 1 : script.indexOf("{", node.start) + 1);
      } else if (node.type === "ArrowFunctionExpression" && body && body.type !== "BlockStatement") {
        expression(body);
      } else if (node.type === "ConditionalExpression" && consequent && alternate) {
        expression(consequent);
        expression(alternate);
      } else if (node.type === "LogicalExpression" && right) expression(right);
      else if (node.type === "SwitchCase") statements(script.indexOf(":", parts.test?.end ?? node.start) + 1);
      else if (node.type === "IfStatement" && consequent) {
        statement(consequent);
        if (alternate) statement(alternate);
      } else if (/^(?:For|ForIn|ForOf|While)Statement$/.test(node.type) && body) statement(body);
    });
    let counted = "";
    let from = 0;
    for (const { at, text } of inOrder(insertions)) {
      counted += script.slice(from, at) + text;
      from = at;
    }
    return counted + script.slice(from);
  }
}

const COUNTS = "__reached";

interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** Found from the outside in: so they open, and close the other way round before anything else opens there. */
function inOrder(insertions: readonly Insertion[]): Insertion[] {
  const isClosing = ({ text }: Insertion) => text === ")" || text === "}";
  const closing = insertions.filter(isClosing).reverse();
  return [...closing, ...insertions.filter((each) => !isClosing(each))].sort(
    (one, other) => one.at - other.at,
  );
}

/** Visits a node and what is in it, outer ones first. */
function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const value of Object.values(node)) {
    for (const inner of Array.isArray(value) ? value : [value])
      if (typeof inner === "object" && inner !== null && typeof inner.type === "string") walk(inner, visit);
  }
}
