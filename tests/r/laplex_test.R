# What laplex.R does between R and Python, checked in R: `make r` runs it with Rscript in an empty folder.
source(reticulate::import("laplex.r")$file)

raises <- function(expression, message) {
  text <- tryCatch({ force(expression); "no error" }, error = conditionMessage)
  if (!grepl(message, text, fixed = TRUE)) stop("expected the error: ", message, "\ngot: ", text)
  stopifnot(startsWith(text, "laplex: "), !grepl("Traceback|py_last_error|\n", text))
}

# Speakers of two parties; "bank" stands beside other words in each.
set.seed(1)
speakers <- 60
rows <- lapply(rep(seq_len(speakers), each = 4), function(i) {
  other <- replicate(6, paste(sample(sprintf("w%d", 1:20), 3), collapse = " "))
  parts <- sample(c(if (i %% 2) "bank river shore" else "bank money loan", other))
  c(paste(parts, collapse = " "), c("R", "D")[i %% 2 + 1])
})
speeches <- data.frame(
  text = vapply(rows, `[[`, "", 1),
  party = factor(vapply(rows, `[[`, "", 2), levels = c("R", "D")),
  date = as.Date("2001-03-01") + rep(seq_len(speakers), each = 4) * 20,
  age = rep(20 + seq_len(speakers) %% 30, each = 4),
  speaker = rep(sprintf("Zo\u00eb %d", seq_len(speakers)), each = 4)
)

# Data frames in: factors, dates, whole numbers, names with accents.
corpus <- lx_read(speeches, metadata = c("party", "date"), unit = "speaker", numbers = "age")
corpus <- lx_periods(corpus, "date", every = "1y")
first <- lx_head(corpus, 1)
stopifnot(first$party == "D", first$date == "2001-03-21", first$age == "21", first$speaker == "Zo\u00eb 1",
          first$period == "2001", first$text == speeches$text[1])
incomplete <- speeches
incomplete$party[2] <- NA
raises(lx_fit(lx_model("party"), lx_read(incomplete, metadata = "party")), "party")
kept <- lx_head(lx_read(incomplete, metadata = "party", missing = "drop"), 2)
stopifnot(identical(kept$party, c("D", NA)))
words <- data.frame(party = c("D", "R"))
words$text <- list(c("tax", "cut"), "tax")  # as of quanteda
stopifnot(identical(unlist(lx_head(lx_read(words, metadata = "party"), 2)$text), c("tax", "cut", "tax")))
raises(lx_read(speeches, text = "speech", metadata = "party"), "speech")
raises(lx_read("nothing.csv"), "nothing.csv")

# Numbers without L, a prior by +, and a fit.
model <- lx_model("party", lx_ridge() + lx_groups("party", 10), dimensions = 6, window = 2, subsample = 0)
fitted <- lx_fit(model, corpus, epochs = 30, rate = 0.17, seed = 1, threads = 1, min_count = 1, quiet = TRUE)
lx_save(fitted, "parties.laplex")
fitted <- lx_load("parties.laplex")

# Answers are data frames with types of R, the same as in Python.
shared <- list(min_count = 30, min_units = 5, permutations = 999, quiet = TRUE)
ask <- function(f, ...) do.call(f, c(list(fitted, ...), shared))
found <- ask(lx_contrast, "party")
python <- lx_load("parties.laplex")$inference(min_count = 30L, min_units = 5L, permutations = 999L, quiet = TRUE)
stopifnot(
  identical(class(found), "data.frame"), found$word[1] == "bank", is.logical(found$holds), found$holds[1],
  is.integer(found$uses), is.numeric(found$estimate), is.character(found$context),
  isTRUE(all.equal(found$estimate, as.numeric(reticulate::py_to_r(python$contrast("party")[["estimate"]]$tolist())))),
  grepl('differ by "party" (60 values of "speaker"', attr(found, "summary"), fixed = TRUE)
)
controlled <- ask(lx_contrast, "party", words = "bank", given = ~ age + C(period))
stopifnot(nrow(controlled) == 1, controlled$holds)
terms <- ask(lx_regress, ~ party * age)
stopifnot(setequal(unique(terms$term), c("party", "age", "party:age")))
stopifnot(identical(unique(ask(lx_regress, ~ party + age, terms = "age")$term), "age"))
stopifnot(nrow(ask(lx_drift, "age", words = c("bank", "w1"))) == 2)
stopifnot(nrow(ask(lx_distance, "bank", across = "party", given = "age")) == 1)
near <- lx_neighbors(fitted, "bank", k = 5, at = list(party = "D"), quiet = TRUE)
stopifnot(nrow(near) == 5, identical(near$rank, 1:5), identical(unique(near$party), "D"))
stopifnot(anyNA(near$estimate) || is.numeric(near$estimate))
stopifnot(nrow(lx_similarity(fitted, "bank", "w1", quiet = TRUE)) == 2)
stopifnot(nrow(lx_project(fitted, c("bank", "w3"), plus = "w1", minus = c("w2", "w4"), quiet = TRUE)) == 4)
texts <- lx_passages(fitted, "bank", at = c(party = "R"), top = 2)
stopifnot(nrow(texts) == 2, texts$party == "R", texts$word == "bank")
why <- ask(lx_explain, "bank", "party", passages = 1)
stopifnot(is.data.frame(why$context), setequal(why$passages$value, c("D", "R")), length(why$values) == 2)
stopifnot(any(c("river", "shore", "money", "loan") %in% head(why$context$word, 4)))
vectors <- lx_matrix(fitted, at = list(party = "D"))
stopifnot(identical(dim(vectors), c(25L, 6L)), "bank" %in% rownames(vectors), all(is.finite(vectors)))

# Errors and warnings are those of R.
raises(lx_neighbors(fitted, "bunk"), '"bunk" is not in the vocabulary')
raises(lx_neighbors(fitted, "bank", at = list(party = "X")), "has no value 'X'")
raises(lx_contrast(fitted, "party", given = ~ wealth), '"wealth"')
raises(lx_contrast(fitted, "party", unti = "speaker"), "there is no option unti")
raises(lx_fit(model, corpus, size = 100), "dimensions")
warned <- tryCatch(ask(lx_contrast, "party", unit = "documents"), warning = conditionMessage)
stopifnot(startsWith(warned, "every value of"))

# Charts and the report are files.
chart <- lx_plot(head(found, 5))
stopifnot(inherits(chart, "lx_plot"), identical(readBin(chart, "raw", 4), as.raw(c(0x89, 0x50, 0x4e, 0x47))))
stopifnot(grepl("<svg", readLines(lx_plot(why, file = "why.svg"), 1), fixed = TRUE))
stopifnot(grepl("chart: ", capture.output(print(lx_plot(terms, "volcano")))))
raises(lx_plot(found, file = "a.gif"), "has to end in")
lx_report(fitted, "report.html", title = "Parties & banks", quiet = TRUE)
stopifnot(any(grepl("Parties &amp; banks", readLines("report.html"), fixed = TRUE)))
if (requireNamespace("knitr", quietly = TRUE)) {
  writeLines(c("```{r}", "lx_plot(head(found, 3))", "```"), "page.Rmd")
  knitr::knit("page.Rmd", "page.md", quiet = TRUE)
  stopifnot(any(grepl("\\.png", readLines("page.md"))))
}
cat("laplex.R: all checks passed\n")
