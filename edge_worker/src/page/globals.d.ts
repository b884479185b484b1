/** The prerendering properties that TypeScript's DOM types lack, and `$v`, which is set once the snippet is running. */
interface Document {
  readonly prerendering?: boolean;
  $v?: () => void;
  onprerenderingchange: (() => void) | null;
}
