# laplex from R: data frames in and out, formulas as formulas, Python's errors as errors of R.
#
#     library(reticulate)
#     source(import("laplex.r")$file)
#
# Every function has the name of what it calls in Python, after "lx_". Arguments that are left out, or NULL, have the
# defaults of Python. Questions take, besides their own arguments, those that all tests share: unit, interval, level,
# min_effect, min_units, min_count, permutations, language, threads, seed, quiet.

# Text --------------------------------------------------------------------------------------------------------------

#' Open a corpus: a data frame, or a file.
#'
#' @param source A data frame with a row for each document, or the path of a CSV, TSV, JSON lines, Parquet or text file.
#' @param text The column with the text. It may hold lists of words, such as quanteda's tokens.
#' @param metadata The columns to keep, or "all" for all others. Factors, dates and numbers are taken as they are.
#' @param unit The column that says who was sampled, such as the speaker; tests count each once.
#' @param numbers The columns that hold numbers, such as an age.
#' @param ... Other arguments of `lx.read`: language, phrases = TRUE, tokenizer, missing = "drop".
#' @return A corpus.
#' @examples
#' corpus <- lx_read(speeches, metadata = c("party", "year"), unit = "speaker")
lx_read <- function(source, text = "text", metadata = NULL, unit = NULL, numbers = NULL, ...) {
  if (!identical(metadata, "all")) metadata <- .lx_list(metadata)
  .lx_call(lx("read"), source, text = text, metadata = metadata, unit = unit, numbers = .lx_list(numbers), ...)
}

#' The built-in corpus: State of the Union addresses by president, party and year.
#'
#' @return A corpus.
#' @examples
#' addresses <- lx_demo()
lx_demo <- function() .lx_call(lx("demo"))

#' The first documents of a corpus, with their metadata.
#'
#' @param corpus A corpus.
#' @param n How many.
#' @return A data frame.
#' @examples
#' lx_head(corpus, 3)
lx_head <- function(corpus, n = 6) .lx_r(.lx_call(corpus$head, n))

#' Restrict a corpus to documents with certain values.
#'
#' @param corpus A corpus.
#' @param ... Columns and their values.
#' @return A corpus.
#' @examples
#' lx_where(lx_demo(), party = c("Democratic", "Republican"), year = 1961:2022)
lx_where <- function(corpus, ...) .lx_call(corpus$where, ...)

#' Add a column with the period of time that a date falls into.
#'
#' @param corpus A corpus.
#' @param column The column with dates or years.
#' @param every The length of a period: "1y", "10y", "6m", "2w".
#' @param name The name of the new column.
#' @param ... Other arguments of `Corpus.periods`: start, format.
#' @return A corpus.
#' @examples
#' lx_periods(lx_demo(), "year", every = "40y", start = 1781)
lx_periods <- function(corpus, column, every = "1y", name = "period", ...) {
  .lx_call(corpus$periods, column, every = every, name = name, ...)
}

#' Add a column with the bin that a number falls into.
#'
#' @param corpus A corpus.
#' @param column The column with numbers.
#' @param bins The number of bins, or their edges.
#' @param name The name of the new column; by default that of the column with "_bin" after it.
#' @return A corpus.
#' @examples
#' lx_bins(corpus, "age", c(18, 35, 50, 65))
lx_bins <- function(corpus, column, bins = 5, name = NULL) .lx_call(corpus$bins, column, bins, name = name)

# Models ------------------------------------------------------------------------------------------------------------

#' Priors, which are added: short vectors, similar groups, similar successive periods.
#'
#' @param column The column of groups, or of periods or bins.
#' @param strength The strength; left out, it is chosen by held-out text.
#' @param ... Other arguments of `lx.Ridge`, `lx.Groups` and `lx.Chain`.
#' @return A prior.
#' @examples
#' lx_ridge() + lx_groups("party") + lx_chain("period", 100)
lx_ridge <- function(strength = NULL, ...) .lx_call(lx("Ridge"), strength = strength, ...)

#' @rdname lx_ridge
lx_groups <- function(column, strength = NULL, ...) .lx_call(lx("Groups"), column, strength = strength, ...)

#' @rdname lx_ridge
lx_chain <- function(column, strength = NULL, ...) .lx_call(lx("Chain"), column, strength = strength, ...)

`+.laplex.model.priors.prior.Prior` <- function(e1, e2) .lx_call(e1$`__add__`, e2)

#' A model: what vectors vary by, and the prior.
#'
#' @param vary The columns that the vectors of a word vary by.
#' @param prior A prior.
#' @param ... Other arguments of `lx.Model`: likelihood, dimensions, window, negatives, subsample.
#' @return A model.
#' @examples
#' lx_model("party", lx_ridge() + lx_groups("party"), dimensions = 50)
lx_model <- function(vary = NULL, prior = NULL, ...) .lx_call(lx("Model"), vary = .lx_list(vary), prior = prior, ...)

#' Estimate a model, and test all words for each column that the vectors vary by.
#'
#' @param model A model.
#' @param corpus A corpus.
#' @param ... Other arguments of `lx.fit`: min_count, epochs, seed, threads, start, quiet.
#' @return Embeddings.
#' @examples
#' fitted <- lx_fit(model, corpus, min_count = 20, epochs = 5, seed = 1)
lx_fit <- function(model, corpus, ...) .lx_call(lx("fit"), model, corpus, ...)

#' Save embeddings, and open saved ones.
#'
#' @param fitted Embeddings.
#' @param folder The folder of the saved model.
#' @return `lx_load` returns embeddings.
#' @examples
#' lx_save(fitted, "parties.laplex")
#' fitted <- lx_load("parties.laplex")
lx_save <- function(fitted, folder) invisible(.lx_call(fitted$save, path.expand(folder)))

#' @rdname lx_save
lx_load <- function(folder) .lx_call(lx("load"), path.expand(folder))

#' The vectors of the words of a slice.
#'
#' @param fitted Embeddings.
#' @param at The slice, such as list(party = "R"); not needed without groups or periods.
#' @param language The language, if there are several.
#' @return A matrix with a row for each word, which is its name.
#' @examples
#' vectors <- lx_matrix(fitted, at = list(party = "R"))
lx_matrix <- function(fitted, at = NULL, language = NULL) {
  matrix <- .lx_call(fitted$matrix, language = language, at = at)
  size <- unlist(.lx_r(matrix$shape))
  values <- .lx_r(matrix$ravel()$tolist())
  words <- .lx_r(.lx_call(fitted$words, language = language))
  matrix(as.numeric(values), size[1], size[2], byrow = TRUE, dimnames = list(words, NULL))
}

# Questions ---------------------------------------------------------------------------------------------------------

#' The words that are used differently at the values of a column.
#'
#' @param fitted Embeddings.
#' @param column The column whose values are compared.
#' @param words Words to compare instead of all.
#' @param values The values to compare, if not all.
#' @param against "rest", "pairs", "joint" or a value.
#' @param given What is controlled for: columns, or a formula such as ~ year * chamber.
#' @param at Values of other columns, to which the text is restricted, such as list(year = 2000:2010).
#' @param test FALSE for the bare distances between the fitted vectors.
#' @param ... What all tests share: unit, interval, level, min_count and others.
#' @return A data frame; what holds comes first. `attr(found, "summary")` says it in one sentence.
#' @examples
#' found <- lx_contrast(fitted, "party", given = ~ year, interval = 0.95)
lx_contrast <- function(fitted, column, words = NULL, values = NULL, against = NULL, given = NULL, at = NULL,
                        test = TRUE, ...) {
  .lx_ask(fitted, "contrast", list(...), column, words = words, values = .lx_list(values), against = against,
          given = given, at = at, test = test)
}

#' How different words are between the values of one column, also at each value of another.
#'
#' @inheritParams lx_contrast
#' @param across The column whose values are compared.
#' @param along The column at each value of which they are.
#' @return A data frame.
#' @examples
#' lx_distance(fitted, c("health", "tax"), across = "party", along = "period")
lx_distance <- function(fitted, words, across, along = NULL, given = NULL, at = NULL, test = TRUE, ...) {
  .lx_ask(fitted, "distance", list(...), words, across = across, along = along, given = given, at = at, test = test)
}

#' The words whose use changes along an ordered column.
#'
#' @inheritParams lx_contrast
#' @param column A column with an order: periods, years, numbers.
#' @return A data frame.
#' @examples
#' lx_drift(fitted, "period")
lx_drift <- function(fitted, column, words = NULL, given = NULL, at = NULL, test = TRUE, ...) {
  .lx_ask(fitted, "drift", list(...), column, words = words, given = given, at = at, test = test)
}

#' How words differ with several columns at once, each given all others.
#'
#' @inheritParams lx_contrast
#' @param formula A formula of columns, such as ~ party * year + s(age) + C(chamber).
#' @param terms The terms to test, if not all.
#' @return A data frame with a row for each word and coefficient.
#' @examples
#' lx_regress(fitted, ~ party + year, terms = "party")
lx_regress <- function(fitted, formula, words = NULL, terms = NULL, at = NULL, ...) {
  .lx_ask(fitted, "regress", list(...), formula, words = words, terms = terms, at = at)
}

#' What the difference of a word between two groups is made of.
#'
#' @inheritParams lx_contrast
#' @param word The word.
#' @param values Two values, or one, which is compared with all others.
#' @param passages How many passages are shown for each group.
#' @return A list: the data frames context, neighbors and passages, and word, column, values and total.
#' @examples
#' lx_explain(fitted, "freedom", "party")$passages
lx_explain <- function(fitted, word, column, values = NULL, given = NULL, at = NULL, passages = 3, ...) {
  found <- .lx_ask(fitted, "explain", list(...), word, column, values = .lx_list(values), given = given, at = at,
                   passages = passages)
  parts <- c("word", "column", "values", "total", "context", "neighbors", "passages")
  parts <- stats::setNames(lapply(parts, function(name) .lx_r(found[[name]])), parts)
  parts$values <- unlist(parts$values)
  structure(parts, python = found, class = "lx_explanation")
}

#' Typical passages with a word, in the original text.
#'
#' @inheritParams lx_contrast
#' @param word The word.
#' @param top How many passages.
#' @return A data frame.
#' @examples
#' lx_passages(fitted, "freedom", at = list(party = "R"), top = 5)
lx_passages <- function(fitted, word, at = NULL, top = 10, ...) {
  .lx_ask(fitted, "passages", list(...), word, at = at, top = top)
}

#' The words most similar to a word, or to several together, in each slice.
#'
#' @inheritParams lx_contrast
#' @param words A word, or several.
#' @param k How many neighbors.
#' @return A data frame.
#' @examples
#' lx_neighbors(fitted, "freedom", k = 10, at = list(party = "R"))
lx_neighbors <- function(fitted, words, k = 10, at = NULL, test = TRUE, ...) {
  .lx_ask(fitted, "neighbors", list(...), words, k, at = at, test = test)
}

#' The cosine similarity of two words in each slice, or how it differs between the values of a column.
#'
#' @inheritParams lx_contrast
#' @param word,other The two words.
#' @param across A column whose values are compared.
#' @return A data frame.
#' @examples
#' lx_similarity(fitted, "work", "duty", across = "party")
lx_similarity <- function(fitted, word, other, across = NULL, given = NULL, at = NULL, test = TRUE, ...) {
  .lx_ask(fitted, "similarity", list(...), word, other, across = across, given = given, at = at, test = test)
}

#' The position of words between two poles, such as poor and rich, in each slice.
#'
#' @inheritParams lx_similarity
#' @param words A word, or several.
#' @param plus,minus The words of the positive and of the negative pole.
#' @return A data frame.
#' @examples
#' lx_project(fitted, "tax", plus = c("good", "better"), minus = c("bad", "worse"))
lx_project <- function(fitted, words, plus, minus, across = NULL, given = NULL, at = NULL, test = TRUE, ...) {
  poles <- list(.lx_list(plus), .lx_list(minus))
  .lx_ask(fitted, "project", list(...), words, poles, across = across, given = given, at = at, test = test)
}

# Showing -----------------------------------------------------------------------------------------------------------

#' Draw a chart of an answer.
#'
#' @param x A data frame of answers, the result of `lx_explain`, or embeddings (for "map" and "trajectory").
#' @param kind The name of a function in `lx.plots`: "bars", "dots", "lines", "volcano", "coefficients", "explanation",
#'   "map", "trajectory". By default "explanation" for one, "bars" for a data frame.
#' @param ... Other arguments of that function.
#' @param file The file to write, which ends in .png, .svg, .pdf or .html. By default a temporary PNG.
#' @return The path of the file. Printed, it is shown in the viewer or in the document that knitr makes.
#' @examples
#' lx_plot(head(lx_contrast(fitted, "party"), 20))
#' lx_plot(lx_regress(fitted, ~ party + year), "volcano", file = "volcano.pdf")
lx_plot <- function(x, kind = NULL, ..., file = tempfile(fileext = ".png")) {
  if (is.null(kind)) kind <- if (inherits(x, "lx_explanation")) "explanation" else "bars"
  chart <- .lx_call(lx("plots")[[kind]], x, ...)
  .lx_call(chart$save, path.expand(file))
  structure(file, class = "lx_plot")
}

# how a chart is shown: in the viewer, in a document of knitr, or by its path
print.lx_plot <- function(x, ...) {
  if (interactive()) getOption("viewer", utils::browseURL)(unclass(x)) else cat("chart:", unclass(x), "\n")
  invisible(x)
}

knit_print.lx_plot <- function(x, ...) knitr::knit_print(knitr::include_graphics(unclass(x), dpi = 144), ...)

print.lx_explanation <- function(x, ...) {
  cat(sprintf('"%s" by %s: %s and %s\n', x$word, x$column, x$values[1], x$values[2]))
  print(utils::head(x$context, 10))
  invisible(x)
}

#' Write a report on a model: one HTML file that can be sent, opened and printed.
#'
#' @param fitted Embeddings.
#' @param file The file, which ends in .html.
#' @param ... Other arguments of `lx.report`: title, words, column, unit.
#' @return The path of the file.
#' @examples
#' lx_report(fitted, "report.html", title = "Parties", words = c("freedom", "tax"))
lx_report <- function(fitted, file = "report.html", ...) {
  .lx_call(lx("report"), fitted, path.expand(file), ...)
  invisible(file)
}

# Between R and Python ----------------------------------------------------------------------------------------------

#' All of laplex as the Python module that it is, or one name in it, for what has no function here.
#'
#' @param name A name in laplex, such as "tune".
#' @return The module or the object, which is not converted to R.
#' @examples
#' lx("tune")
lx <- function(name = NULL) {
  module <- reticulate::import("laplex", convert = FALSE)
  if (is.null(name)) module else module[[name]]
}

# a method of `fitted.inference(...)`, with the arguments that all tests share, and its answer for R
.lx_ask <- function(fitted, question, shared, ...) {
  inference <- do.call(.lx_call, c(list(fitted$inference), shared))
  answer <- .lx_call(inference[[question]], ...)
  if (inherits(answer, "laplex.inference.explanations.Explanation")) answer else .lx_r(answer)
}

# a call of Python with arguments of R: NULL is left out, and errors and warnings are those of R
.lx_call <- function(f, ...) {
  arguments <- lapply(Filter(Negate(is.null), list(...)), .lx_py)
  done <- do.call(.lx_bridge()$call, c(list(f), arguments))
  for (text in .lx_r(done[1])) warning(text, call. = FALSE)
  error <- .lx_r(done[2])
  if (nzchar(error)) stop(error, call. = FALSE)
  done[0]
}

.lx_bridge <- function() reticulate::import("laplex.r", convert = FALSE)

# values of R for Python: whole numbers are integers, one string is a string, names make a dict, formulas are text
.lx_py <- function(x) {
  if (inherits(x, "python.builtin.object")) return(x)
  if (inherits(x, "lx_explanation")) return(attr(x, "python"))
  if (inherits(x, "formula")) return(paste(deparse(x, width.cutoff = 500L), collapse = " "))
  if (is.data.frame(x)) {
    columns <- stats::setNames(lapply(x, .lx_column), names(x))
    return(reticulate::import("polars", convert = FALSE)$DataFrame(do.call(reticulate::dict, columns)))
  }
  if (is.list(x) || (is.atomic(x) && (length(x) != 1 || !is.null(names(x))))) {
    values <- lapply(if (is.list(x)) x else as.list(.lx_atomic(x)), .lx_py)
    if (is.null(names(x))) return(reticulate::r_to_py(unname(values)))
    return(do.call(reticulate::dict, stats::setNames(values, names(x))))
  }
  if (is.function(x)) x else .lx_atomic(x)
}

# a column of a data frame as a list, in which NA is None
.lx_column <- function(x) {
  if (is.list(x)) return(reticulate::r_to_py(lapply(unname(x), function(words) as.list(as.character(words)))))
  x <- .lx_atomic(x)
  values <- as.list(x)
  values[is.na(x)] <- list(NULL)
  reticulate::r_to_py(values)
}

# factors, dates and times as text; numbers that are all whole as integers
.lx_atomic <- function(x) {
  if (inherits(x, "POSIXt")) return(format(x, "%Y-%m-%d %H:%M:%S"))
  if (is.factor(x) || inherits(x, c("Date", "integer64"))) return(stats::setNames(as.character(x), names(x)))
  if (is.character(x)) return(enc2utf8(x))
  is_whole <- is.double(x) && all(is.finite(x) | is.na(x)) && all(abs(x) < 2^31 & x == round(x), na.rm = TRUE)
  if (is_whole) stats::setNames(as.integer(x), names(x)) else x
}

.lx_list <- function(x) if (is.null(x) || is.list(x)) x else as.list(x)

# values of Python for R: frames are data frames
.lx_r <- function(x) {
  if (!inherits(x, c("pandas.DataFrame", "pandas.core.frame.DataFrame"))) return(reticulate::py_to_r(x))
  columns <- .lx_r(.lx_bridge()$columns(x))
  frame <- lapply(columns, function(column) .lx_values(column[[2]], column[[3]]))
  names(frame) <- vapply(columns, `[[`, "", 1)
  frame <- structure(frame, row.names = .set_row_names(length(frame[[1]])), class = "data.frame")
  attr(frame, "summary") <- .lx_r(x$attrs$get("summary"))
  frame
}

.lx_values <- function(kind, values) {
  if (is.list(values)) values[vapply(values, is.null, NA)] <- NA
  if (any(lengths(values) > 1)) return(I(values))
  values <- unlist(values)
  if (kind == "text") return(as.character(values))
  if (kind == "truth") return(as.logical(values))
  values <- as.numeric(values)
  values[is.nan(values)] <- NA
  if (kind == "whole" && all(abs(values) < 2^31, na.rm = TRUE)) as.integer(values) else values
}

if (requireNamespace("knitr", quietly = TRUE)) {
  registerS3method("knit_print", "lx_plot", knit_print.lx_plot, envir = asNamespace("knitr"))
}
