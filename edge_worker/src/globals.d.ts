/** The page's snippet, put in by the build. */
declare const SNIPPET: string;
