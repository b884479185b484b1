/**
 * The notes below a report's chart: marks at their days, the list of notes, and the dialogs to write and delete a note.
 * Next to the button for a new note is the button that shares the report.
 */

import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { call } from "../api.js";
import { longDay, number } from "../format.js";
import { useKept } from "../kept.js";
import { changed, useResource } from "../resource.js";
import { t } from "../words.js";
import { Confirm, Dialog } from "./dialog.jsx";
import { Field, Form } from "./form.jsx";
import { Note as Box } from "./parts.jsx";
import { ShareButton } from "./shares.jsx";

/**
 * @typedef {import("../wire").Note} Note
 * @typedef {import("../wire").Report} Report
 * @typedef {"site" | "link"} Kind
 */

/** The maximum number of notes in one response. */
const MOST = 1_000;
/** The number of notes that are shown before the user expands the list. */
const FEW = 5;
const MOST_CHARS = 500;
const [FIRST_DAY, LAST_DAY] = ["2000-01-01", "2099-12-31"];

/** True if the list shows all notes. A click on a mark below the chart also expands the list. */
const all = signal(false);

/**
 * @typedef {{kind: Kind, id: string, report: Report}} Of the site or link, and its report
 * @param {Of} of
 */
const useNotes = ({ kind, id, report: { from, to } }) =>
  useKept(useResource("GET /v1/notes", { ...targetOf(kind, id), from, to, limit: MOST }));

/** @param {Kind} kind @param {string} id @returns {any} the parameter with the id */
const targetOf = (kind, id) => (kind === "site" ? { site_id: id } : { link_id: id });

/**
 * @param {Of & {accountId: string, day: import("@preact/signals").Signal<string | null>}} props `day`: the day for
 *   which the dialog for a new note is open, or null
 */
export function Notes({ accountId, day, ...of }) {
  const words = t().notes;
  const { kind, id, report } = of;
  const target = targetOf(kind, id);
  const read = useNotes(of);
  const notes = read.data?.notes ?? [];
  const edited = useSignal(/** @type {Note | null} */ (null));
  const removed = useSignal(/** @type {Note | null} */ (null));
  const said = useSignal("");
  const close = () => (day.value = edited.value = removed.value = null);
  /** @param {string} text */
  const written = (text) => {
    said.value = text;
    changed("/v1/notes");
    close();
  };
  /** @param {string} on */
  const saved = (on) => written(on < report.from || on > report.to ? words.savedElsewhere(longDay(on)) : words.saved);
  useEffect(() => () => void (all.value = false), []);
  return (
    <section class="notes" aria-labelledby="notes">
      <h2 id="notes">{words.title}</h2>
      {notes.length > 0 ? (
        <NoteList
          notes={notes.slice(0, all.value ? MOST : FEW)}
          edit={(note) => (edited.value = note)}
          remove={(note) => (removed.value = note)}
        />
      ) : (
        read.data && <p class="small">{words.none}</p>
      )}
      {read.data?.next_cursor && (
        <Box>
          <p>{words.limited}</p>
        </Box>
      )}
      <p class="actions">
        <button type="button" class="quiet" onClick={() => (day.value = report.to)}>
          {words.add}
        </button>
        <ShareButton kind={kind} id={id} />
        {notes.length > FEW && (
          <button type="button" class="quiet" aria-expanded={all.value} onClick={() => (all.value = !all.value)}>
            {all.value ? words.showFewer : words.showAll(number(notes.length))}
          </button>
        )}
        <span role="status">{said.value}</span>
      </p>
      {day.value !== null && (
        <Editor
          title={words.addTitle}
          day={day.value}
          text=""
          kind={kind}
          close={close}
          send={async ({ day: on = "", text = "", on_target }, key) => {
            const where = on_target === "account" ? { account_id: accountId } : target;
            const { note } = await call("POST /v1/notes", { body: { ...where, day: on, text }, key });
            saved(note.day);
          }}
        />
      )}
      {edited.value && (
        <Editor
          title={words.editTitle}
          day={edited.value.day}
          text={edited.value.text}
          close={close}
          send={async ({ day: on = "", text = "" }, key) => {
            const note_id = edited.value?.id ?? "";
            const { note } = await call("PATCH /v1/notes/{note_id}", { note_id, body: { day: on, text }, key });
            saved(note.day);
          }}
        />
      )}
      {removed.value && (
        <Confirm
          title={words.deleteTitle}
          submit={words.delete}
          close={close}
          send={async (key) => {
            await call("DELETE /v1/notes/{note_id}", { note_id: removed.value?.id ?? "", body: {}, key });
            written(words.deleted);
          }}
        >
          <p>
            {longDay(removed.value.day)}: <bdi>{textOf(removed.value)}</bdi>
          </p>
          {removed.value.automatic && <p>{words.deleteAutomatic}</p>}
        </Confirm>
      )}
    </section>
  );
}

/** @param {{notes: Note[], edit: (note: Note) => void, remove: (note: Note) => void}} props */
export const NoteList = ({ notes, edit, remove }) => (
  <ul>
    {notes.map((note) => (
      <Row key={note.id} note={note} edit={() => edit(note)} remove={() => remove(note)} />
    ))}
  </ul>
);

/** @param {Note} note @returns {string} the text in the reader's language */
function textOf({ kind, facts = {}, text }) {
  const words = kind && t().notes.texts[kind];
  if (!words) return text;
  const shown = Object.entries(facts).map(([name, value]) => [
    name,
    name === "since" || name === "until" ? longDay(value).replace(/ UTC$/, "") : value,
  ]);
  return words(Object.fromEntries(shown));
}

/** @param {{note: Note, edit: () => void, remove: () => void}} props */
function Row({ note, edit, remove }) {
  const words = t().notes;
  const text = textOf(note);
  return (
    <li tabIndex={-1}>
      <time dateTime={note.day}>{longDay(note.day)}</time>
      <bdi dir="auto">{text}</bdi>
      {note.account_id && <span class="small">{words.wholeAccount}</span>}
      {note.automatic && <span class="small">{words.automatic}</span>}
      <span class="edit">
        {!note.automatic && (
          <button type="button" class="quiet" aria-label={words.editNamed(text)} onClick={edit}>
            {words.edit}
          </button>
        )}
        <button type="button" class="quiet" aria-label={words.deleteNamed(text)} onClick={remove}>
          {words.delete}
        </button>
      </span>
    </li>
  );
}

/** Show a note in the list, and focus it. @param {number} place the index of a note */
function show(place) {
  all.value = all.value || place >= FEW;
  requestAnimationFrame(() => {
    const row = document.querySelectorAll(".notes li")[place];
    if (row instanceof HTMLElement) row.focus();
  });
}

/** The marks of a report's notes. @param {Of & {slots: {at: string}[]}} props `slots`: the points of the chart */
export const NoteMarks = ({ slots, ...of }) => <Marks slots={slots} notes={useNotes(of).data?.notes ?? []} />;

/**
 * The marks below the chart, one for each point with notes. The list has the same content, so screen readers and the
 * keyboard skip the marks.
 * @param {{notes: Note[], slots: {at: string}[]}} props
 */
export function Marks({ notes, slots }) {
  const first = new Map();
  for (const [place, { day }] of notes.entries()) {
    const slot = slots.findLastIndex(({ at }) => at.slice(0, 10) <= day);
    // If the points are hours, the mark is at the first hour of the note's day.
    const at = slots.findIndex((one) => one.at.slice(0, 10) === slots[slot]?.at.slice(0, 10));
    if (at >= 0 && !first.has(at)) first.set(at, place);
  }
  return (
    <div class="marks" aria-hidden="true">
      {[...first].map(([at, place]) => (
        <button
          key={at}
          type="button"
          tabIndex={-1}
          title={notes[place] && textOf(notes[place])}
          ref={(element) => element?.style.setProperty("--at", String((at + 0.5) / slots.length))}
          onClick={() => show(place)}
        />
      ))}
    </div>
  );
}

/**
 * @param {{
 *   title: string,
 *   day: string,
 *   text: string,
 *   kind?: Kind,
 *   close: () => void,
 *   send: (values: Record<string, string>, key: string) => Promise<unknown>,
 * }} props `kind`: set for a new note, which can be on the site or link, or on its account
 */
function Editor({ title, day, text, kind, close, send }) {
  const words = t().notes;
  return (
    <Dialog title={title} close={close}>
      <Form
        submit={words.save}
        send={send}
        more={
          <button type="button" class="quiet" onClick={close}>
            {t().common.cancel}
          </button>
        }
      >
        <Field name="day" label={words.day} type="date" min={FIRST_DAY} max={LAST_DAY} defaultValue={day} required />
        <Field
          name="text"
          label={words.text}
          defaultValue={text}
          maxLength={MOST_CHARS}
          autoCapitalize="sentences"
          spellcheck
          autocomplete="off"
          dir="auto"
          required
          data-first
        />
        {kind && (
          <Field name="on_target" label={words.on}>
            <option value={kind}>{words.targets[kind]}</option>
            <option value="account">{words.targets.account}</option>
          </Field>
        )}
      </Form>
    </Dialog>
  );
}
