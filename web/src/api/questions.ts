// The pages of questions.

/** The page of a question, which takes a job in the parameter `job`. */
export function pageOf(question: string): string {
  if (question === "diagnose") return "/verdict";
  if (question.startsWith("kernel/") || question.startsWith("kernel-")) return "/kernel";
  return `/${question}`;
}
