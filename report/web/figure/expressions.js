// Evaluates the expressions of a chart without eval, which a strict content policy forbids. Each
// expression is turned into nested functions once. Vega's own interpreter goes through it anew for
// every mark, which takes ten times as long. That interpreter still serves events, of which there
// are few, and functions that are not listed here.
//
// An expression comes as its tree (ESTree). A function that it is turned into is given the place it
// is evaluated for: {params, datum, item}.

export const compiledBy = (interpreter) => ({
  ...interpreter,
  operator: (context, { ast }) => {
    const value = compile(ast, context, interpreter);
    return (params) => value({ params });
  },
  parameter: (context, { ast }) => {
    const value = compile(ast, context, interpreter);
    return (datum, params) => value({ params, datum });
  },
  encode: (context, { marktype, channels }) => {
    const values = Object.entries(channels).map(([name, { ast }]) => {
      const value = compile(ast, context, interpreter);
      const told = name === "tooltip" && ast.type === "ObjectExpression";
      return [name, told ? (at) => new Told(value, at) : value];
    });
    return (item, params) => encode(item, params, marktype, channels, values);
  },
});

// A tooltip of several lines, worked out when it is asked for: a chart has thousands of items, and
// a reader points at a few of them.
class Told {
  constructor(value, at) {
    this.value = value;
    this.at = at;
  }

  toJSON() {
    return this.value(this.at);
  }
}

// The lines of a tooltip, {name: value}: worked out now if they were put off (`Told`), else unchanged.
export const linesOf = (tooltip) => (tooltip instanceof Told ? tooltip.toJSON() : tooltip);

// Sets the channels of an item; returns whether one has changed.
function encode(item, params, marktype, channels, values) {
  const at = { params, datum: item.datum, item };
  let changed = 0;
  for (const [name, value] of values) {
    const next = value(at);
    if (item[name] === next) continue;
    item[name] = next;
    changed = 1;
  }
  if (marktype !== "rule") {
    span(item, channels, "x", "width", ORDERED.has(marktype));
    span(item, channels, "y", "height", ORDERED.has(marktype));
  }
  return changed;
}

const ORDERED = new Set(["group", "image", "rect"]); // what begins at its smaller end

// An item that is given by both of its ends, or by its middle, is drawn by its start and length.
function span(item, channels, start, length, ordered) {
  const [end, middle] = [`${start}2`, `${start}c`];
  if (channels[end] && channels[start]) {
    if (ordered && item[start] > item[end]) [item[start], item[end]] = [item[end], item[start]];
    item[length] = item[end] - item[start];
  } else if (channels[end]) {
    item[start] = item[end] - (item[length] || 0);
  }
  if (channels[middle]) item[start] = item[middle] - (item[length] || 0) / 2;
}

const CONSTANTS = {
  NaN, undefined, E: Math.E, LN2: Math.LN2, LN10: Math.LN10, LOG2E: Math.LOG2E, LOG10E: Math.LOG10E,
  PI: Math.PI, SQRT1_2: Math.SQRT1_2, SQRT2: Math.SQRT2, MIN_VALUE: Number.MIN_VALUE,
  MAX_VALUE: Number.MAX_VALUE,
};
const GIVEN = new Set(["datum", "item", "event"]);
const FORBIDDEN = new Set([Function, eval, setTimeout, setInterval]);
const BINARY = {
  "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b,
  "%": (a, b) => a % b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b,
  ">=": (a, b) => a >= b, "===": (a, b) => a === b, "!==": (a, b) => a !== b,
  "==": (a, b) => a == b, "!=": (a, b) => a != b, "|": (a, b) => a | b, "&": (a, b) => a & b,
  "^": (a, b) => a ^ b, "<<": (a, b) => a << b, ">>": (a, b) => a >> b, ">>>": (a, b) => a >>> b,
};
const UNARY = { "+": (a) => +a, "-": (a) => -a, "!": (a) => !a, "~": (a) => ~a };
const MATHS = [
  "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "exp", "floor", "log", "max", "min", "pow",
  "round", "sin", "sqrt", "tan",
];

function compile(tree, context, interpreter) {
  const of = (part) => compile(part, context, interpreter);
  switch (tree.type) {
    case "Literal":
      return () => tree.value;
    case "Identifier":
      return identifier(tree.name);
    case "MemberExpression": {
      const { computed, property } = tree;
      return member(of(tree.object), computed ? of(property) : () => property.name);
    }
    case "CallExpression":
      return call(tree.callee.name, tree.arguments.map(of), context, interpreter);
    case "ArrayExpression": {
      const elements = tree.elements.map(of);
      return (at) => elements.map((element) => element(at));
    }
    case "ObjectExpression": {
      const entries = tree.properties.map(({ key, value }) => [key.name ?? key.value, of(value)]);
      return (at) => Object.fromEntries(entries.map(([key, value]) => [key, allowed(value(at))]));
    }
    case "UnaryExpression": {
      const [act, argument] = [known(UNARY, tree.operator), of(tree.argument)];
      return (at) => act(argument(at));
    }
    case "BinaryExpression": {
      const [act, left, right] = [known(BINARY, tree.operator), of(tree.left), of(tree.right)];
      return (at) => act(left(at), right(at));
    }
    case "LogicalExpression": {
      const [left, right] = [of(tree.left), of(tree.right)];
      return tree.operator === "&&" ? (at) => left(at) && right(at) : (at) => left(at) || right(at);
    }
    case "ConditionalExpression": {
      const [test, yes, no] = [tree.test, tree.consequent, tree.alternate].map(of);
      return (at) => (test(at) ? yes(at) : no(at));
    }
    default:
      throw new Error(`an expression has a ${tree.type}, which no chart can have`);
  }
}

function known(operators, name) {
  if (!Object.hasOwn(operators, name)) throw new Error(`an expression has an unknown ${name}`);
  return operators[name];
}

function identifier(name) {
  if (GIVEN.has(name)) return (at) => at[name];
  if (Object.hasOwn(CONSTANTS, name)) return () => CONSTANTS[name];
  const param = `$${name}`;
  return ({ params }) => params[param];
}

const member = (object, property) => (at) => allowed(object(at)[property(at)]);

// What could make code of text is not for expressions.
function allowed(value) {
  if (FORBIDDEN.has(value)) throw new Error("an expression asks for what could run code");
  return value;
}

function call(called, given, context, interpreter) {
  const name = called.replace(/^_/, "");
  if (name === "if") return (at) => (given[0](at) ? given[1](at) : given[2](at));
  const { functions } = context;
  if (functions[name]) return (at) => functions[name](...given.map((value) => value(at)));
  const plain = MATHS.includes(name)
    ? Math[name]
    : interpreted(name, given.length, context, interpreter);
  return (at) => plain(...given.map((value) => value(at)));
}

// Any other function that expressions have, of so many arguments.
function interpreted(name, count, context, interpreter) {
  const argument = (_, n) => ({
    type: "MemberExpression",
    computed: true,
    object: { type: "Identifier", name: "datum" },
    property: { type: "Literal", value: n },
  });
  const tree = {
    type: "CallExpression",
    callee: { type: "Identifier", name },
    arguments: Array.from({ length: count }, argument),
  };
  const run = interpreter.parameter(context, { ast: tree });
  return (...values) => run(values, {});
}
