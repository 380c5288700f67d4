"""A small store, as a team may have, and the queries by which people look for items.

Many words are in several items, so that only the subject of a text leads to it, not one lucky word.
"""

from collections.abc import Iterator

from satchel.model import DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database

ANN = "11111111-1111-4111-8111-111111111111"
SCOPE = Scope(user=ANN)

# Each heading is: title | tags | description. The content is below it.
PROMPTS = """
== Code review | review,quality | Reviews a diff line by line
You are a careful reviewer. Read the diff. Look for bugs, missing tests and unclear names.
List findings by severity.
== Security review | review,security | Looks for vulnerabilities
Check the change for injection, broken access control, secrets in code and unsafe deserialization.
== Commit message | git | A conventional commit from a diff
Write one line in the imperative, at most 72 characters.
Then a blank line and why the change was made.
== Release notes | git,release | Turns a changelog into notes for users
Group the changes by what users notice. Leave out refactorings and chores.
== Postmortem | incident,sre | Blameless report after an outage
Describe the timeline, the impact on customers, the root cause and the action items.
Blame nobody.
== Incident update | incident,support | Status page text while something is down
Say what is broken, who is affected, since when, and when the next update comes.
== Explain like I'm five | teaching | Simple words for a hard subject
Explain {{ topic }} to a child. Use a comparison from everyday life.
== Translate to German | language,translation | -
Translate the text into German. Keep names, code and markup. Prefer du to Sie.
== Proofread English | language,writing | Corrects grammar and spelling
Correct grammar, spelling and punctuation without changing the meaning. Show the corrected text only.
== Summarize meeting | meetings | Minutes from a transcript
Give decisions, open questions and action items with owners. Ten bullet points at most.
== Summarize paper | research | Abstract of a scientific article
State the question, the method, the result and the limits of the study in 150 words.
== Cover letter | career | Application for a job
Write a letter for the position {{ role }} at {{ company }} from my résumé. Honest, warm, one page.
== Mock interview | career | Practise for a job interview
Ask me one question at a time for the position of {{ role }}. After each answer give feedback.
== SQL from question | sql,data | Query for a question in plain words
Given the schema below, write one PostgreSQL query that answers the question. Explain joins.
== Optimize SQL query | sql,performance | Why is it slow
Read the output of explain analyze and suggest indexes or a rewritten query.
== Regex builder | code | Regular expression with tests
Write a regular expression for what I describe, with ten strings that match and ten that do not.
== Unit tests for Python | python,testing | pytest for a function
Write pytest tests for the function: usual cases, borders, errors. Use parametrize.
== TypeScript migration | typescript,code | JavaScript to TypeScript
Convert the file to TypeScript in strict mode. No any. Keep behaviour.
== Dockerfile doctor | docker,ops | Smaller and safer images
Review the Dockerfile: layers, cache, user, secrets, size. Suggest a multi-stage build.
== Kubernetes troubleshooting | kubernetes,ops | Pods that do not start
Ask for kubectl describe and logs. Go through image, probes, resources, permissions, network.
== Terraform module | terraform,ops | -
Write a Terraform module with variables, outputs and an example. Pin provider versions.
== API design critique | api,review | REST endpoints under the magnifying glass
Check names, verbs, status codes, pagination, errors and idempotency of the endpoints.
== User story | product | From idea to story with acceptance criteria
As a ... I want ... so that ... Then acceptance criteria in given-when-then form.
== Customer reply | support | Friendly answer to a complaint
Answer politely. Apologize once, say what happens next and when. No jargon.
== Meal plan | home,food | Dinners of a week with a shopping list
Plan seven vegetarian dinners for four people. Add a shopping list by aisle.
== Travel itinerary | home,travel | Days of a trip by the hour
Plan {{ days }} days in {{ city }} by public transport with pauses for children.
== Tweet thread | marketing,writing | Announcement in short posts
Turn the article into eight posts. The first must make one stop scrolling.
== SEO description | marketing,web | Meta description of a page
Write a meta description with at most 155 characters that contains the keyword once.
== Naming things | code | Better names for variables and functions
Suggest five names for each identifier, with reasons. Prefer words of the domain.
== Rubber duck | debugging | Find a bug by explaining
Ask me what I expected, what happened instead, and what changed last. One question at a time.
"""

# Each heading is: name | MIME type | description. The content is below it.
DOCUMENTS = """
== deployment-runbook.md | text/markdown | How we ship to production
# Deploying

## Before
Announce it in #releases. Check the dashboards.

## Steps
1. Tag the release.
2. Run the pipeline `deploy-prod`.
3. Watch error rates for ten minutes.

## Rollback
Run `deploy-prod --rollback` with the previous tag.
== onboarding.md | text/markdown | First week of a new colleague
# Welcome
Get a laptop, accounts for VPN, mail and the wiki.
Pair with your buddy on a small ticket.
Read the security policy.
== style-guide.md | text/markdown | How we write code and text
Short sentences. Functions are verbs.
Comments give reasons.
No abbreviations in names.
== architecture.md | text/markdown | Services and how they talk
The gateway talks to billing, accounts and search by gRPC.
Events go through Kafka.
Each service owns its PostgreSQL database.
== backup-policy.md | text/markdown | What is saved, how often, where
Nightly dumps are kept for 30 days in another region.
Restores are tried on the first Monday of each month.
== oncall-rota.csv | text/csv | Who is on call
week,person
47,Ann
48,Bob
49,Çağla
== retro-2026-10.md | text/markdown | Retrospective of October
Good: fewer alerts at night.
Bad: flaky end-to-end tests cost two days.
Try: quarantine flaky tests.
== pricing.md | text/markdown | Plans and discounts
Free, Team and Enterprise.
Yearly plans get two months free.
Non-profits get 40 percent off.
== gdpr-notes.md | text/markdown | Personal data and the law
We keep invoices for ten years.
Erasure requests are answered within 30 days.
Data processing agreements are in the legal folder.
== feature_flags.py | text/x-python | Flags in code
def is_enabled(flag_name, user):
    return rolloutPercentage(flag_name) > bucket(user)

MAX_RETRY_COUNT = 5

== error-codes.md | text/markdown | Codes of the public API
E1001 token expired
E1002 quota exceeded
E2001 payment declined
HTTP 429 means slow down.
== meeting-notes-2026-11-03.md | text/markdown | Weekly of the platform team
Decided: move the cache to Redis 8.
Open: who owns the load balancer?
Bob looks into certificate renewal.
== cafe-list.md | text/markdown | Where to eat near the office
Café Señor: best empanadas.
Noodle bar: long queue at noon.
== brand-voice.md | text/markdown | How we sound
Friendly, plain, never cute. We say you and we. No exclamation marks.
== hiring-rubric.md | text/markdown | How we judge candidates
Scale of 1 to 4 for problem solving, communication, craft and ownership.
Write evidence, not impressions.
"""

# title, tags, description, project
TASKS = (
    ("Renew TLS certificates", "ops", "They expire on 12 December. Use the ACME client on the load balancer.", None),
    ("Fix flaky login test", "testing", "test_login_redirect fails one time in ten since the new cookie banner.", None),
    ("Write documentation for webhooks", "docs", "Signatures, retries, examples in curl and Python.", None),
    (
        "Upgrade PostgreSQL to 18",
        "ops,database",
        "Read the release notes, try pg_upgrade on a copy, plan a window.",
        None,
    ),
    ("Book flights to Lisbon", "travel", "Two adults, one child, aisle seats, back before Sunday.", None),
    ("Prepare quarterly budget", "finance", "Ask each team lead for their numbers.", None),
    ("Rotate API keys", "security", "Stripe, SendGrid and the maps provider.", None),
    ("Clean up feature flags", "code", "Remove those that are at 100 percent for more than a month.", None),
    ("Interview candidate for backend role", "hiring", "Use the rubric. Ask about idempotency.", None),
    ("Dark mode for settings page", "frontend", "Contrast at least 4.5. Follow the system preference.", None),
    ("Reduce memory of the search service", "performance", "The heap grows to 3 GB after a day. Take a profile.", None),
    ("Order birthday cake", "home", "Chocolate, for twelve, on Saturday.", None),
    ("Migrate cron jobs to the scheduler", "ops", "nightly-report, cleanup_sessions, syncUsers", None),
    ("Reply to the auditor", "compliance", "She asks for access logs and the list of subprocessors.", None),
    ("Delete old S3 buckets", "ops,cost", "Everything that nobody read for a year.", None),
)

# The wanted item (title of a prompt or task, or name of a document), and the queries that people type.
WANTED = {
    "Code review": ("code review", "reviewing a diff for bugs", "code reveiw"),
    "Security review": ("vulnerabilities in my change", "secuirty review"),
    "Commit message": ("commit mesage", "message for git commit"),
    "Release notes": ("changelog for users",),
    "Postmortem": ("post mortem", "post-mortem", "postmortem", "report after outage", "blameless"),
    "Incident update": ("status page",),
    "Explain like I'm five": ("explain like im five", "explain to a child"),
    "Translate to German": ("german translation", "translate german"),
    "Proofread English": ("correct my grammar and speling", "proof read"),
    "Summarize meeting": ("minutes from transcript", "meeting summary"),
    "Summarize paper": ("abstract of scientific article",),
    "Cover letter": ("job application letter", "resume letter"),
    "Mock interview": ("practice job interview",),
    "Optimize SQL query": ("slow query",),
    "SQL from question": ("sql from plain words",),
    "Regex builder": ("regular expresion", "regex"),
    "Unit tests for Python": ("pytest", "python unit test"),
    "TypeScript migration": ("convert javascript to typescript",),
    "Dockerfile doctor": ("docker image too big size",),
    "Kubernetes troubleshooting": ("kubernets pod not starting",),
    "Terraform module": ("teraform",),
    "API design critique": ("rest api pagination errors",),
    "User story": ("acceptance criteria",),
    "Customer reply": ("answer angry complaint customer",),
    "Meal plan": ("dinner shopping list", "meals of the week"),
    "Travel itinerary": ("trip with children plan",),
    "SEO description": ("meta description keyword",),
    "Naming things": ("names for variables",),
    "deployment-runbook.md": ("how do we deploy to production", "deploy", "rollback", "run book"),
    "onboarding.md": ("new colleague first week vpn",),
    "architecture.md": ("kafka events",),
    "backup-policy.md": ("how long do we keep dumps",),
    "oncall-rota.csv": ("on call", "cagla"),
    "retro-2026-10.md": ("flaky tests retrospective",),
    "pricing.md": ("discount for non profits",),
    "gdpr-notes.md": ("erasure request personal data",),
    "feature_flags.py": ("rollout percentage", "max_retry_count", "retry count", "flag_name"),
    "error-codes.md": ("E1002", "quota exceeded error"),
    "meeting-notes-2026-11-03.md": ("redis cache decision",),
    "cafe-list.md": ("cafe senor", "where to eat"),
    "brand-voice.md": ("tone of voice brand",),
    "hiring-rubric.md": ("candidate scale rubric",),
    "Renew TLS certificates": ("certificate expire", "tls certs"),
    "Fix flaky login test": ("login test flaky",),
    "Write documentation for webhooks": ("docs webhooks", "web hook signature"),
    "Upgrade PostgreSQL to 18": ("postgres upgrade",),
    "Book flights to Lisbon": ("lisbon flight",),
    "Prepare quarterly budget": ("budgt quarter",),
    "Rotate API keys": ("stripe key rotation",),
    "Clean up feature flags": ("remove feature flags",),
    "Dark mode for settings page": ("darkmode",),
    "Reduce memory of the search service": ("heap grows memory profile",),
    "Order birthday cake": ("birthday",),
    "Migrate cron jobs to the scheduler": ("sync users cron", "cleanup sessions"),
    "Reply to the auditor": ("auditor access logs",),
    "Delete old S3 buckets": ("s3 bucket",),
}
PAIRS = [(query, target) for target, queries in WANTED.items() for query in queries]


def read_items(text: str) -> Iterator[tuple[str, str, str | None, str]]:
    """Yield the three parts of each heading in a text, and the content below it."""
    for item in text.removesuffix("\n").split("\n== ")[1:]:
        heading, _, content = item.partition("\n")
        first, second, third = heading.split(" | ")
        yield first, second, None if third == "-" else third, content


def fill(database: Database, scope: Scope = SCOPE) -> None:
    """Add the corpus to a store."""
    projects.require(database, scope)
    with database.write(scope) as tx:
        for title, tags, description, content in read_items(PROMPTS):
            draft = PromptDraft(title=title, tags=tags.split(","), description=description, content=content)
            prompts.add(tx, scope, draft)
        for name, mime_type, description, content in read_items(DOCUMENTS):
            uri = f"x:{name}"
            documents.add(
                tx,
                scope,
                DocumentDraft(name=name, uri=uri, mime_type=mime_type, description=description, content=content),
            )
        for title, tags, description, project in TASKS:
            tasks.add(tx, scope, TaskDraft(title=title, tags=tags.split(","), description=description, project=project))
