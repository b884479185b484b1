/** What browsers that prerender have, and TypeScript's types of the DOM do not. */
interface Document {
  readonly prerendering?: boolean;
  onprerenderingchange: (() => void) | null;
}
