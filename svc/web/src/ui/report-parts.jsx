/** The parts of a report that are not needed to show its chart: one bundle, which is loaded after the chart. */

import english from "../words/en-report.js";
import { add } from "../words.js";

add(english);

export { Breakdowns } from "./breakdowns.jsx";
export { Table, Tip } from "./chart-parts.jsx";
export { MissingBreakdowns } from "./missing-breakdowns.jsx";
export { NoteMarks, Notes } from "./notes.jsx";
export { RangePicker } from "./range-picker.jsx";
export { RangeProblem } from "./range-problem.jsx";
export { DaysExport, ReportExport } from "./report-export.jsx";
export { StatementBadge } from "./statement-badge.jsx";
export { Unavailable } from "./unavailable.jsx";
