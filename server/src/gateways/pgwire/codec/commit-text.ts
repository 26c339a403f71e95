/** A text that is one COMMIT, and nothing but COMMIT is the tag that answers it. */
export const commitText = /^\s*(?:commit|end)(?:\s+(?:work|transaction))?(?:\s*;)?\s*$/i;
