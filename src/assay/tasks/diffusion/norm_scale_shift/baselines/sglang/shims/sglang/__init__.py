"""In place of the package's own start, which loads the language front end."""
