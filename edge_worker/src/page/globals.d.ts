/** What browsers that prerender have, and TypeScript's types of the DOM do not; and what says that the snippet runs. */
interface Document {
  readonly prerendering?: boolean;
  $v?: () => void;
  onprerenderingchange: (() => void) | null;
}
